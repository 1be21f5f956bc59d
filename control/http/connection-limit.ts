import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressGroup } from '../access/throttle.js'

export interface ConnectionLimit {
  /** Open connections per IPv4 address or IPv6 /64. */
  readonly perAddress: number
  /** Returns true for addresses without a limit, for example reverse proxies. */
  exempt(address: string): boolean
  /** Called when an address reaches its limit, once until its connections fall below it again. */
  onReached(): void
}

/** Closes connections of an address beyond its limit, before they send anything. */
export function limitConnections(server: Server, limit: ConnectionLimit): void {
  const open = new Map<string, number>()
  const reached = new Set<string>()
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    // The peer is gone already.
    if (address === undefined) return
    if (limit.exempt(address)) return
    const group = addressGroup(address)
    const count = open.get(group) ?? 0
    if (count >= limit.perAddress) {
      socket.destroy()
      if (reached.has(group)) return
      reached.add(group)
      limit.onReached()
      return
    }
    open.set(group, count + 1)
    socket.once('close', () => {
      const left = (open.get(group) ?? 1) - 1
      reached.delete(group)
      if (left === 0) open.delete(group)
      else open.set(group, left)
    })
  })
}
