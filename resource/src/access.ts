/** What a request may do, as the gateway says: whose it is, with which scopes, in which accounts. */
export interface Access {
  /** The user's id. */
  readonly subject: string
  readonly scopes: readonly string[]
  /** The accounts it reaches; undefined where the gateway does not tell this service. */
  readonly accounts: readonly string[] | undefined
  /** The user's id in the brokerage's own systems. */
  readonly customer: string | undefined
  readonly username: string | undefined
  readonly client: string | undefined
  readonly partner: number | undefined
  readonly grant: number | undefined
  /** For which resources it is (RFC 8707); empty: for all. */
  readonly audience: readonly string[]
  /** When and how the user had signed in who approved it; undefined where nobody says. */
  readonly authenticatedAtMs: number | undefined
  readonly acr: string | undefined
  /** It counts from one sender alone (RFC 7800), which whoever takes the token has to make sure of. */
  readonly isBound: boolean
  readonly expiresAtMs: number
}
