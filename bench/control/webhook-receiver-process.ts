import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/* A webhook receiver in a process of its own that answers at once. Sends its port to the parent. */

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => response.end())
})
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.on('disconnect', () => process.exit(0))
