import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { HttpRequest, routeUpgrade, type Upgrade } from './upgrades.js'

/** Sends bytes to a server that upgrades below /ws/, and returns its answer and what reached its parts. */
async function exchange(text: string) {
  const requests: string[] = []
  const upgrades: string[] = []
  const server = createServer({ IncomingMessage: HttpRequest }, (request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      requests.push(`${request.method} ${request.url} ${body}`)
      response.end('answered')
    })
  })
  const route = {
    prefix: '/ws/',
    accept({ socket, segment, head }: Upgrade) {
      upgrades.push(`${segment} ${head.toString()}`)
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    },
    close: () => {},
  }
  server.on('upgrade', (request, socket, head) => routeUpgrade([route], request, socket, head))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => {
    answer += data.toString()
  })
  socket.write(text)
  await once(socket, 'close')
  server.close()
  return { answer: answer.split('\r\n', 1)[0], requests, upgrades }
}

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: a', 'Connection: Upgrade, close', ...headers].join('\r\n')}\r\n\r\n`

t.test('a WebSocket goes to the route of its path', async (t) => {
  const found = await exchange(`${head('GET /ws/a%20b?x=1', 'Upgrade: WebSocket')}more`)
  t.same(found, { answer: 'HTTP/1.1 101 Switching Protocols', requests: [], upgrades: ['a b more'] })
  for (const path of ['/other', '/ws/', '/ws/a/b', '/ws/%ff', '/ws']) {
    const refused = await exchange(head(`GET ${path}`, 'Upgrade: websocket'))
    t.same(refused, { answer: 'HTTP/1.1 404 Not Found', requests: [], upgrades: [] }, path)
  }
})

t.test('other offers to upgrade are ignored, with their bodies', async (t) => {
  const post = await exchange(`${head('POST /ws/a', 'Upgrade: h2c', 'Content-Length: 4')}body`)
  t.same(post, { answer: 'HTTP/1.1 200 OK', requests: ['POST /ws/a body'], upgrades: [] })
  const get = await exchange(head('GET /ws/a', 'Upgrade: h2c'))
  t.same(get, { answer: 'HTTP/1.1 200 OK', requests: ['GET /ws/a '], upgrades: [] })
  const wrong = await exchange(`${head('POST /ws/a', 'Upgrade: websocket', 'Content-Length: 4')}body`)
  t.same(wrong, { answer: 'HTTP/1.1 200 OK', requests: ['POST /ws/a body'], upgrades: [] })
})
