import { EventEmitter } from 'node:events'
import t from 'tap'
import type { WsUpgrade } from '../../../signalling/embedded/transport/ws-transport.js'
import { BrowserConnections } from './connections.js'

t.test('users of one address stay apart when two proxies have the same port', async (t) => {
  const accepted: WsUpgrade['remote'][] = []
  const connections = new BrowserConnections(({ remote }) => accepted.push(remote))
  const open = (userId: string, port: number) => {
    const socket = new EventEmitter()
    const remote = { address: '198.51.100.7', port }
    connections.accept({ request: { socket }, head: Buffer.alloc(0), remote } as unknown as WsUpgrade, userId)
    return { socket, at: accepted.at(-1) ?? remote }
  }
  const first = open('user_1', 40_000)
  const second = open('user_2', 40_000)
  const userOf = ({ at }: typeof first) => connections.userAt(at.address, at.port)
  t.strictSame([userOf(first), userOf(second)], ['user_1', 'user_2'])
  first.socket.emit('close')
  t.strictSame([userOf(first), userOf(second)], [null, 'user_2'], 'the end of one leaves the other')
  t.equal(connections.connectionsOf('user_2'), 1)
  const last = open('user_3', 65_535)
  const wrapped = open('user_4', 65_535)
  t.strictSame([last.at.port, wrapped.at.port], [65_535, 1])
})
