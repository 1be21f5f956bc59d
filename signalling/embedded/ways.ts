import type { Core } from './core.js'
import type { Dialog } from './dialog.js'
import { chooseTransport, type Destination, flowOf, type Target, targetOf } from './next-hop.js'
import type { Flow, Transport } from './transport.js'

/** Where a request is to go: a known way, or a URI's target still to be resolved. */
export type Hop =
  | { readonly by: 'flow'; readonly flow: Flow }
  /** The connection a client registered over: nothing else reaches it. */
  | { readonly by: 'registered'; readonly flow: Flow }
  | { readonly by: 'pin'; readonly destination: Destination }
  | { readonly by: 'target'; readonly target: Target }

export type Ways =
  /** In order of preference, at least one. */
  | { readonly found: 'some'; readonly open: readonly (() => Flow)[] }
  /** The name has no address; `transport` would have been used. */
  | { readonly found: 'no address'; readonly transport: Transport }
  | { readonly found: 'no transport' }
  | { readonly found: 'gone'; readonly transport: Transport }

/** Resolves a hop; calls back in the same call when no name has to be looked up. */
export function findWays(core: Core, hop: Hop, done: (ways: Ways) => void): void {
  if (hop.by === 'registered' && !hop.flow.open) {
    done({ found: 'gone', transport: hop.flow.transport })
    return
  }
  if (hop.by === 'flow' || hop.by === 'registered') {
    done({ found: 'some', open: [() => hop.flow] })
    return
  }
  if (hop.by === 'pin') {
    done({ found: 'some', open: [() => flowOf(hop.destination)] })
    return
  }
  const { host, port, protocol } = hop.target
  core.resolver.resolve(host, (addresses) => {
    const open: (() => Flow)[] = []
    for (const address of addresses) {
      const transport = chooseTransport(core.transports, protocol, address)
      if (transport) open.push(() => flowOf({ transport, remote: { address, port } }))
    }
    if (open.length > 0) {
      done({ found: 'some', open })
      return
    }
    const transport = chooseTransport(core.transports, protocol, '127.0.0.1') ?? core.transports[0]
    if (addresses.length > 0 || transport === undefined) done({ found: 'no transport' })
    else done({ found: 'no address', transport })
  })
}

/** The hop of a request inside a dialog; null when its route cannot be used at all. */
export function hopOf(dialog: Dialog, nextHop: string): Hop | null {
  if (dialog.pinned) return { by: 'pin', destination: dialog.pinned }
  if (dialog.connection?.open) return { by: 'flow', flow: dialog.connection }
  const target = targetOf(nextHop)
  return target === null ? null : { by: 'target', target }
}
