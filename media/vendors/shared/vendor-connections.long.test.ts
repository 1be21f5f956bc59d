import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '../../../fixtures/host/until.js'
import { systemClock } from '../../base/clock.js'
import { VendorConnections } from './vendor-connections.js'
import { post } from './vendor-http.js'

async function openServer(t: Test) {
  let opened = 0
  let open = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === '/hangs') return
    request.on('end', () => response.end('{}'))
  })
  // The server leaves it to the client when to close.
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => {
    opened++
    open++
    socket.on('close', () => open--)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = async (
    connections: VendorConnections | undefined,
    body: string | FormData = '{}',
    path = '',
  ) => {
    const response = await post({
      url: `http://127.0.0.1:${port}/${path}`,
      apiKey: null,
      body,
      limits: { headerMs: 20_000, idleMs: 20_000, totalMs: 20_000, maxBytes: 100 },
      clock: systemClock,
      signal: new AbortController().signal,
      ...(connections === undefined ? {} : { connections }),
    })
    await response.read(() => true)
  }
  return { ask, opened: () => opened, open: () => open }
}

t.test('a pause between two turns does not cost the connection', async (t) => {
  const connections = new VendorConnections()
  t.teardown(() => connections.close())
  const kept = await openServer(t)
  const lost = await openServer(t)
  await Promise.all([kept.ask(connections), lost.ask(undefined)])
  await new Promise((resolve) => setTimeout(resolve, 6000))
  const form = new FormData()
  form.set('file', new Blob(['x']), 'utterance.wav')
  await Promise.all([kept.ask(connections, form), lost.ask(undefined)])
  t.equal(kept.opened(), 1)
  t.equal(lost.opened(), 2, 'without them it does')
})

t.test('nothing stays open after the close', async (t) => {
  const connections = new VendorConnections()
  const server = await openServer(t)
  await server.ask(connections)
  const hanging = server.ask(connections, '{}', 'hangs')
  await until(() => server.open() === 2 || server.opened() === 1)
  await Promise.all([connections.close(), t.rejects(hanging, { code: 'vendor_unreachable' })])
  await connections.close()
  await until(() => server.open() === 0)
  t.equal(server.open(), 0)
})
