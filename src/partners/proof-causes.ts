/**
 * Why calls fail that prove by keys who they are from, and what to do about it. The gateway names the rule that
 * was broken; the types of the errors hold that each has its row here.
 */
interface ProofCause {
  readonly problem: string
  readonly remedy: string
}

const checkIt = 'The checker under Proofs says it of one that you paste.'
const setClock = 'Set the clock of the machine that signs by NTP; a container has that of its host.'

export const assertionCauses = {
  'assertion-form': {
    problem: 'client_assertion is no JWT that can be read.',
    remedy:
      'Send one compact JWT of at most 4,096 characters: three parts of base64url with dots between, encoded once, and sent once.',
  },
  'assertion-header': {
    problem: 'The header of the client assertion names what is not taken: crit, b64, jku, x5u or jwk.',
    remedy: 'Leave these out. Keys are those of the client here; kid says which of them signed.',
  },
  'assertion-type': {
    problem: 'The client assertion says in typ that it is another kind of token.',
    remedy:
      'Leave typ out, or say JWT or client-authentication+jwt. A DPoP proof belongs into the DPoP header.',
  },
  'assertion-algorithm': {
    problem: 'The client assertion is signed by an algorithm that is not taken.',
    remedy:
      'Sign with ES256, PS256 or EdDSA. RS256, which many libraries choose for RSA keys, is refused: the same key signs PS256. A client secret (HS256) signs nothing.',
  },
  'assertion-client': {
    problem: 'The client assertion names another client, or none of this environment.',
    remedy:
      'Let iss and sub both be the client id, and client_id the same or left out. Compare it, and the environment, with those under Clients.',
  },
  'assertion-audience': {
    problem: 'The client assertion was signed for another audience.',
    remedy:
      'Let aud be the issuer, as /.well-known/oauth-authorization-server has it: one text, no list, no slash added, and not the address of the token or PAR endpoint. Live and sandbox have one each.',
  },
  'assertion-expiry': {
    problem: 'The client assertion has expired, has no exp, or lives too long.',
    remedy: `Sign a new one for each request, with exp a minute ahead and at most five. If you do, your clock is slow, or counts milliseconds: exp is in seconds. ${setClock}`,
  },
  'assertion-not-yet': {
    problem: 'iat or nbf of the client assertion lies in the future: the clock that signed it is fast.',
    remedy: `Up to 30 seconds ahead are taken. ${setClock} ${checkIt}`,
  },
  'assertion-id': {
    problem: 'The client assertion has no usable jti.',
    remedy: 'Give each a jti of its own: a random text of 1 to 255 characters, such as a UUID.',
  },
  'assertion-key': {
    problem: 'The client has no key here that could have signed the client assertion.',
    remedy:
      'Add the public key under Clients before anything is signed with it; where keys are read from your address, publish it there first and wait until it is listed. kid must be its kid or its thumbprint, and alg the one that it signs by.',
  },
  'assertion-signature': {
    problem: 'No key of this client made the signature of the client assertion.',
    remedy:
      'Compare the thumbprint of the key that signs with those under Clients. ES256 is r and s in 64 bytes, not DER; PS256 has a salt of 32 bytes. Live and sandbox do not share keys unless you add them to both.',
  },
  'assertion-used': {
    problem: 'The client assertion was used before.',
    remedy:
      'Sign a new one, with a new jti, for each request, for repeated ones too. Do not keep them until they expire.',
  },
  'assertion-certificate': {
    problem: 'The certificate of the connection is not the one of this client.',
    remedy:
      'Call the addresses of mtls_endpoint_aliases with the certificate that is registered: self-signed, the very one that stands with the keys; otherwise one with the registered subject, from an authority that the brokerage trusts, for clientAuth, within its dates.',
  },
} as const satisfies Record<string, ProofCause>

export const dpopCauses = {
  'dpop-form': {
    problem: 'The DPoP header is no single proof that can be read.',
    remedy:
      'Send one DPoP header with one compact JWT of at most 4,096 characters and without crit. Look for a proxy or a library that adds a second one.',
  },
  'dpop-type': {
    problem: 'The DPoP proof does not say in typ that it is one.',
    remedy: 'Let typ in its header be dpop+jwt.',
  },
  'dpop-algorithm': {
    problem: 'The DPoP proof is signed by an algorithm that is not taken.',
    remedy:
      'Sign with ES256, PS256 or EdDSA. RS256 is refused: an RSA key signs PS256. ES256 with a key made for it is the quickest.',
  },
  'dpop-key': {
    problem: 'The DPoP proof has no usable public key in its header.',
    remedy:
      'Put the public key into jwk, of P-256, Ed25519, or RSA of 2048 bits or more, that fits alg. If its private part (d) was in it, that key is burnt: make another.',
  },
  'dpop-signature': {
    problem: 'The DPoP proof is not signed by the key in its own header.',
    remedy:
      'Sign with the private key whose public part is in jwk. ES256 is r and s in 64 bytes, not DER; PS256 has a salt of 32 bytes.',
  },
  'dpop-claims': {
    problem: 'The DPoP proof lacks a claim, or has one of the wrong kind.',
    remedy:
      'It needs jti (a new random text each time), htm, htu and iat, a number of seconds; at an API also ath.',
  },
  'dpop-method': {
    problem: 'The DPoP proof was made for another method.',
    remedy:
      'Let htm be the method of the request, in capital letters. Make a new proof after a redirect that changed it.',
  },
  'dpop-address': {
    problem: 'The DPoP proof was made for another address.',
    remedy:
      'Let htu be the public address of the request, scheme and host as discovery has them, without query. Behind a proxy of your own, sign the address that the gateway is published at, not the one that your program connects to, and mind path prefixes.',
  },
  'dpop-time': {
    problem: 'The DPoP proof was made too long ago, or by a clock that is fast.',
    remedy: `Make it just before it is sent: 60 seconds are taken, and 30 ahead. ${setClock} ${checkIt}`,
  },
  'dpop-nonce': {
    problem: 'The DPoP proof has no nonce of ours, or an old one.',
    remedy:
      'Once is no fault: take the value of the DPoP-Nonce header of this answer as the claim nonce, and send the request again with a new proof. If it goes on, keep the newest nonce of every answer, those of successes too, and separately for each site.',
  },
  'dpop-token': {
    problem: 'ath of the DPoP proof is not of the access token that was sent.',
    remedy:
      'Let ath be base64url, without =, of the SHA-256 of the access token exactly as it stands after DPoP in Authorization. After a refresh that is the new one.',
  },
  'dpop-other-key': {
    problem: 'The DPoP proof is of another key than the one that was agreed on.',
    remedy:
      'Use the key that the token or the code was bound to: the one of the proof at the token endpoint, or of dpop_jkt. A refresh with a new key gives an access token for that one.',
  },
  'dpop-missing': {
    problem: 'The token is bound to a key, and no DPoP proof came with it.',
    remedy: 'Send a proof in the DPoP header with every call. Look for a proxy that drops unknown headers.',
  },
  'dpop-used': {
    problem: 'The DPoP proof was used before.',
    remedy: 'Make a new one, with a new jti, for each request, for repeated ones too.',
  },
  'token-scheme': {
    problem: 'The token was sent in the wrong way: Bearer in place of DPoP, or the other way round.',
    remedy:
      'Send Authorization: DPoP and the token, with a proof, where token_type was DPoP; otherwise Authorization: Bearer.',
  },
  'token-certificate': {
    problem: 'The token is bound to a certificate that the connection did not show.',
    remedy:
      'Call the address of the mTLS port with the certificate that the token was asked for with. After a new certificate, refresh.',
  },
} as const satisfies Record<string, ProofCause>

export const demandCauses = {
  'fapi-key': {
    problem: 'The client has FAPI 2.0 and showed a secret, or nothing.',
    remedy:
      'Authenticate with private_key_jwt or a certificate at every endpoint. At /v2, send a token of the client_credentials grant in place of HTTP Basic.',
  },
  'fapi-pushed': {
    problem: 'The authorization request was not pushed.',
    remedy:
      'Send it to /v1/oauth/par first, and the browser to authorize with client_id and the request_uri that it answers, and nothing else.',
  },
  'fapi-response-type': {
    problem: 'response_type is missing.',
    remedy: 'Push response_type=code.',
  },
  'fapi-callback': {
    problem: 'redirect_uri is missing.',
    remedy: 'Push redirect_uri, character by character as it stands under Clients.',
  },
  'fapi-challenge': {
    problem: 'code_challenge is missing (PKCE).',
    remedy: 'Push code_challenge, of a new code_verifier each time, and code_challenge_method=S256.',
  },
  'fapi-state': {
    problem: 'state is missing.',
    remedy:
      'Send a new random text as state, tied to the browser that is sent off, and compare it at the callback.',
  },
  'fapi-verifier': {
    problem: 'code_verifier is missing (PKCE).',
    remedy: 'Exchange the code with the code_verifier whose code_challenge was pushed.',
  },
  'fapi-binding': {
    problem: 'The tokens would be bound to no sender.',
    remedy:
      'Send a DPoP proof in the DPoP header of the token request, or call by the mTLS port with the certificate.',
  },
} as const satisfies Record<string, ProofCause>

type WithoutPrefix<Rule> = Rule extends `fapi-${infer Demand}` ? Demand : never
/** What the profile of a client demands, as it is noted of calls that did not meet it yet. */
export type UnmetDemand = WithoutPrefix<keyof typeof demandCauses>

export type ProofRule = keyof typeof assertionCauses | keyof typeof dpopCauses | keyof typeof demandCauses
