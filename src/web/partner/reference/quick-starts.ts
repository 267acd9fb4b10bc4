/**
 * The first program in several languages, with the partner's own ids: register a webhook, send a test, see
 * what became of it, verify what arrives. The secret comes from the environment, never from the page. Tests
 * run those in curl and TypeScript.
 */
import { verifications } from './verifications.ts'

export interface QuickStartValues {
  readonly baseUrl: string
  readonly clientId: string
  readonly branchId: number
}

export interface QuickStart {
  readonly language: string
  readonly start: (values: QuickStartValues) => string
  /** The last deliveries of a webhook. */
  readonly look: (values: QuickStartValues, webhookId: number) => string
  readonly verify: string | undefined
}

const payload = (branchId: number) =>
  `{"transactionId":42,"clearingAccount":"1234","type":"TRANSACTION","action":"COMPLETED","branchId":${branchId},"email":"test@example.com","amount":500.10,"direction":"DEPOSIT"}`

const curl = ({
  baseUrl,
  clientId,
  branchId,
}: QuickStartValues) => `# export CLIENT_SECRET=… HOOK_URL=https://app.example.com/hooks
curl -sS --fail-with-body -u "${clientId}:$CLIENT_SECRET" -H 'Content-Type: application/json' \\
  ${baseUrl}/v2/webhooks -d "{\\"url\\":\\"$HOOK_URL\\"}"

curl -sS --fail-with-body -u "${clientId}:$CLIENT_SECRET" -H 'Content-Type: application/json' -H 'Prefer: wait=10' \\
  ${baseUrl}/v2/webhooks/transaction -d '${payload(branchId)}'
`

const typescript = ({
  baseUrl,
  clientId,
  branchId,
}: QuickStartValues) => `const { CLIENT_SECRET, HOOK_URL } = process.env
const authorization = 'Basic ' + Buffer.from(\`${clientId}:\${CLIENT_SECRET}\`).toString('base64')

async function post(path: string, body: unknown): Promise<unknown> {
  const headers = { authorization, 'content-type': 'application/json', prefer: 'wait=10' }
  const response = await fetch('${baseUrl}' + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`)
  return response.json()
}

console.log(await post('/v2/webhooks', { url: HOOK_URL }))
console.log(JSON.stringify(await post('/v2/webhooks/transaction', ${payload(branchId)})))
`

const python = ({ baseUrl, clientId, branchId }: QuickStartValues) => `import base64, json, os, urllib.request

credentials = f"${clientId}:{os.environ['CLIENT_SECRET']}".encode()
headers = {
    "Authorization": "Basic " + base64.b64encode(credentials).decode(),
    "Content-Type": "application/json",
    "Prefer": "wait=10",
}

def post(path, body):
    request = urllib.request.Request("${baseUrl}" + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)

print(post("/v2/webhooks", {"url": os.environ["HOOK_URL"]}))
print(post("/v2/webhooks/transaction", ${payload(branchId)}))
`

const go = ({ baseUrl, clientId, branchId }: QuickStartValues) => `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func post(path, body string) {
	request, _ := http.NewRequest("POST", "${baseUrl}"+path, strings.NewReader(body))
	request.SetBasicAuth("${clientId}", os.Getenv("CLIENT_SECRET"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "wait=10")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.Status, string(text))
}

func main() {
	post("/v2/webhooks", fmt.Sprintf(\`{"url":%q}\`, os.Getenv("HOOK_URL")))
	post("/v2/webhooks/transaction", \`${payload(branchId)}\`)
}
`

const ruby = ({ baseUrl, clientId, branchId }: QuickStartValues) => `require "json"
require "net/http"

def post(path, body)
  uri = URI("${baseUrl}" + path)
  request = Net::HTTP::Post.new(uri, "Content-Type" => "application/json", "Prefer" => "wait=10")
  request.basic_auth("${clientId}", ENV.fetch("CLIENT_SECRET"))
  request.body = body
  response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") { |http| http.request(request) }
  abort response.body unless response.is_a?(Net::HTTPSuccess)
  puts response.body
end

post "/v2/webhooks", JSON.generate(url: ENV.fetch("HOOK_URL"))
post "/v2/webhooks/transaction", '${payload(branchId)}'
`

const pathOf = (webhookId: number) => `/v2/webhooks/${webhookId}/deliveries?limit=5`

const lookCurl = ({ baseUrl, clientId }: QuickStartValues, webhookId: number) => `# export CLIENT_SECRET=…
curl -sS --fail-with-body -u "${clientId}:$CLIENT_SECRET" '${baseUrl}${pathOf(webhookId)}'
`

const lookTypescript = (
  { baseUrl, clientId }: QuickStartValues,
  webhookId: number,
) => `const authorization = 'Basic ' + Buffer.from(\`${clientId}:\${process.env.CLIENT_SECRET}\`).toString('base64')
const response = await fetch('${baseUrl}${pathOf(webhookId)}', { headers: { authorization } })
if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`)
console.log(JSON.stringify(await response.json(), null, 2))
`

const lookPython = (
  { baseUrl, clientId }: QuickStartValues,
  webhookId: number,
) => `import base64, json, os, urllib.request

credentials = f"${clientId}:{os.environ['CLIENT_SECRET']}".encode()
headers = {"Authorization": "Basic " + base64.b64encode(credentials).decode()}
request = urllib.request.Request("${baseUrl}${pathOf(webhookId)}", headers=headers)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2))
`

const lookGo = ({ baseUrl, clientId }: QuickStartValues, webhookId: number) => `package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	request, _ := http.NewRequest("GET", "${baseUrl}${pathOf(webhookId)}", nil)
	request.SetBasicAuth("${clientId}", os.Getenv("CLIENT_SECRET"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	io.Copy(os.Stdout, response.Body)
}
`

const lookRuby = ({ baseUrl, clientId }: QuickStartValues, webhookId: number) => `require "net/http"

uri = URI("${baseUrl}${pathOf(webhookId)}")
request = Net::HTTP::Get.new(uri)
request.basic_auth("${clientId}", ENV.fetch("CLIENT_SECRET"))
response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") { |http| http.request(request) }
abort response.body unless response.is_a?(Net::HTTPSuccess)
puts response.body
`

export const quickStarts: readonly QuickStart[] = [
  { language: 'curl', start: curl, look: lookCurl, verify: undefined },
  { language: 'TypeScript', start: typescript, look: lookTypescript, verify: verifications.typescript },
  { language: 'Python', start: python, look: lookPython, verify: verifications.python },
  { language: 'Go', start: go, look: lookGo, verify: verifications.go },
  { language: 'Ruby', start: ruby, look: lookRuby, verify: verifications.ruby },
]
