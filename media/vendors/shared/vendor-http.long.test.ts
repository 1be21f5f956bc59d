import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '../../base/clock.js'
import { post } from './vendor-http.js'

t.test('a pause between two turns does not cost the connection', async (t) => {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end('{}'))
  })
  // The server leaves it to the client when to close.
  server.keepAliveTimeout = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const ask = async () => {
    const response = await post({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      apiKey: null,
      body: '{}',
      limits: { headerMs: 8000, idleMs: 8000, totalMs: 8000, maxBytes: 100 },
      clock: systemClock,
      signal: new AbortController().signal,
    })
    await response.read(() => true)
  }
  await ask()
  // Node's own `fetch` gives up a connection after four seconds.
  await new Promise((resolve) => setTimeout(resolve, 6000))
  await ask()
  t.equal(connections, 1)
})
