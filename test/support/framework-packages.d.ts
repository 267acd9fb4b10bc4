/** As much of Express and Hono as the tests use: hooks are taken as they are, whatever types they have. */
declare module 'express' {
  import type { RequestListener } from 'node:http'

  interface Request {
    readonly method: string
    readonly originalUrl: string
    readonly headers: Record<string, string | string[] | undefined>
    readonly params: unknown
    readonly query: unknown
  }

  interface Response {
    status(code: number): Response
    set(headers: Record<string, string>): Response
    json(body: unknown): Response
  }

  type Handler = (request: Request, response: Response, next: (error?: unknown) => void) => void

  interface Express extends RequestListener {
    get(path: string, ...handlers: Handler[]): Express
    listen(port: number, host: string): import('node:http').Server
  }

  function express(): Express
  export = express
}

declare module 'hono' {
  export interface Context {
    readonly req: {
      readonly method: string
      readonly url: string
      header(): Record<string, string>
      param(name: string): string
    }
    json(body: unknown): Response
  }

  type Handler = (context: Context, next: () => Promise<void>) => Promise<Response | undefined> | Response

  export class Hono {
    get(path: string, ...handlers: Handler[]): Hono
    request(path: string, init?: RequestInit): Promise<Response>
  }
}
