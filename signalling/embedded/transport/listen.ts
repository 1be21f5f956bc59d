import { isIP } from 'node:net'
import { EngineError } from '../../../media/base/errors.js'
import { parseNetwork } from '../guard/network-set.js'
import type { ConnectionSettings } from './connection.js'
import { openStreamTransport } from './stream-transport.js'
import type { TlsContext } from './tls-context.js'
import { isSecure, type Protocol, type Transport } from './transport.js'
import { openUdpTransport } from './udp-transport.js'
import { openWsEntrance, openWsTransport, type WsEntrance } from './ws-transport.js'

export interface ListenAddress {
  readonly transport: Protocol
  /** A literal address; `0.0.0.0` and `::` are wildcards. */
  readonly address: string
  /** 0 takes any free port. */
  readonly port: number
  /** The address shown to peers outside a NAT (Via, Contact); default the bound one. */
  readonly advertise?: string
  /** A network such as `10.0.0.0/8` inside the NAT, whose peers see the bound address. */
  readonly localNetwork?: string
}

/**
 * Opens one listening address. Throws EngineError `config_invalid` for settings that can never work and
 * passes on the errors of the system, such as a port in use.
 */
export async function openTransport(
  listen: ListenAddress,
  tls: TlsContext | null,
  common: ConnectionSettings,
): Promise<Transport> {
  const { transport, address, port } = listen
  const secure = isSecure(transport)
  if (secure && tls === null) {
    throw new EngineError('config_invalid', `a ${transport} address needs a certificate and its key`)
  }
  const settings = {
    ...common,
    address,
    port,
    family: familyOf(listen),
    advertise: listen.advertise ?? null,
    localNetwork: listen.localNetwork ?? null,
    tls: secure ? tls : null,
  }
  if (transport === 'udp') return openUdpTransport(settings)
  return transport === 'tcp' || transport === 'tls'
    ? openStreamTransport(settings)
    : openWsTransport(settings)
}

/**
 * Opens a transport for SIP over WebSocket whose connections an HTTP server at this address hands over. Throws
 * EngineError `config_invalid` for an address that is not literal.
 */
export function openEntrance(
  { address, port }: { readonly address: string; readonly port: number },
  common: ConnectionSettings,
): WsEntrance {
  const family = familyOf({ address })
  return openWsEntrance({ ...common, address, port, family, advertise: null, localNetwork: null, tls: null })
}

function familyOf({
  address,
  advertise,
  localNetwork,
}: Pick<ListenAddress, 'address' | 'advertise' | 'localNetwork'>): 4 | 6 {
  const family = isIP(address)
  if (family === 0 || (advertise !== undefined && isIP(advertise) === 0)) {
    throw new EngineError('config_invalid', 'a SIP listening address must be a literal IP address', {
      context: { address, advertise },
    })
  }
  if (localNetwork !== undefined && parseNetwork(localNetwork) === null) {
    throw new EngineError('config_invalid', 'a local network must have the form address/bits', {
      context: { localNetwork },
    })
  }
  return family === 4 ? 4 : 6
}
