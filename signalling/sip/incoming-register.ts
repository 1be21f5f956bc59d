import type { RegisteredFlow } from '../trunk/registrar-rules.js'
import type { RawRequest, RawResponse } from './drachtio-types.js'

/** A REGISTER received over drachtio-srf. */
export class IncomingRegister {
  readonly callId: string
  /** Request-URI, as received. */
  readonly uri: string
  readonly sourceAddress: string
  readonly body: string
  /** Source of the request; null when we could not call back over it (WebSocket). */
  readonly flow: RegisteredFlow | null
  readonly #req: RawRequest
  readonly #res: RawResponse

  constructor(req: RawRequest, res: RawResponse) {
    this.callId = req.get('Call-ID') ?? ''
    this.uri = req.uri
    this.sourceAddress = req.source_address
    this.body = req.body ?? ''
    this.flow = flowOf(req)
    this.#req = req
    this.#res = res
  }

  header(name: string): string | null {
    return this.#req.get(name) ?? null
  }

  /** Sends the final response. Only the first one counts. */
  answer(status: number, headers: Readonly<Record<string, string>> = {}): void {
    if (!this.#res.finalResponseSent) this.#res.send(status, { headers })
  }
}

function flowOf(req: RawRequest): RegisteredFlow | null {
  const { protocol, source_address: address, source_port: port, receivedOn: local = '' } = req
  // drachtio servers report WebSockets as `tcp`; the Via of the sender says which it is.
  const via = /^SIP\s*\/\s*2\.0\s*\/\s*(\w+)/i.exec(req.get('Via') ?? '')?.[1]?.toLowerCase()
  if (via === 'ws' || via === 'wss') return null
  if (protocol !== 'udp' && protocol !== 'tcp' && protocol !== 'tls') return null
  return { transport: protocol, address, port, local }
}
