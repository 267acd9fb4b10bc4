import { announceServer, openTestServer, type TestServer } from './database.ts'

let server: TestServer

export async function globalSetup(): Promise<void> {
  server = await openTestServer()
  announceServer(server)
}

export async function globalTeardown(): Promise<void> {
  await server.close()
}
