import { BroadcastChannel } from 'node:worker_threads'
import { CircuitBreakers, type VendorNews } from '../../media/agent/circuit-breaker.js'
import type { Clock } from '../../media/base/clock.js'

/**
 * Opens the circuit breakers, learnt deadlines and learnt manners of one media thread. What one thread learns of a vendor, every
 * thread that uses the same `channel` knows: a caller on another thread does not wait for the same failures.
 */
export function openSharedCircuits(
  clock: Clock,
  channel: string,
): { readonly breakers: CircuitBreakers; close(): void } {
  const others = new BroadcastChannel(channel)
  const breakers = new CircuitBreakers(clock, (change) => others.postMessage(change))
  others.onmessage = (message) => breakers.adopt((message as { readonly data: VendorNews }).data)
  // A thread without work may end.
  others.unref()
  return { breakers, close: () => others.close() }
}
