import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIP } from 'node:net'
import { type Clock, systemClock } from '../../../media/base/clock.js'
import { EngineError } from '../../../media/base/errors.js'
import { type DnsMessage, decodeReply, encodeQuery, type RecordType } from './dns-message.js'

/** Time for one answer and number of tries: well below what a caller waits for a first response. */
const TIMEOUT_MS = 2_000
const TRIES = 2
const NXDOMAIN = 3
const NOERROR = 0
/** Of an answer by TCP; its length field could announce no more. */
const MAX_BYTES = 65_535

/** The reply and the message its records lie in. */
export interface DnsResponse {
  readonly reply: DnsMessage
  readonly bytes: Buffer
}

/**
 * Asks name servers (`address[:port]`) directly, because Node's own resolver tells no TTL of SRV and
 * NAPTR records. Each question has a socket, hence a port, and an id of its own against forged answers.
 */
export class DnsClient {
  readonly #servers: readonly { readonly host: string; readonly port: number }[]
  readonly #clock: Clock
  readonly #pending = new Set<() => void>()
  #closed = false

  constructor(servers: readonly string[], clock: Clock = systemClock) {
    this.#servers = servers.map(serverOf)
    this.#clock = clock
  }

  /**
   * Null when the name has no such records or is none. Rejects with EngineError `sip_failed` when no
   * server gave an answer.
   */
  async query(name: string, type: RecordType): Promise<DnsResponse | null> {
    const asked = encodeQuery(randomInt(0, 65_536), name, type)
    if (asked === null) return null
    for (let attempt = 0; attempt < TRIES; attempt++) {
      for (const server of this.#servers) {
        const replied = await this.#exchange(asked, server)
        if (replied === null) continue
        const { rcode, answers } = replied.reply
        if (rcode === NXDOMAIN || (rcode === NOERROR && answers.length === 0)) return null
        if (rcode === NOERROR) return replied
      }
    }
    throw new EngineError('sip_failed', `no name server answers for ${name}`, { retryable: true })
  }

  /** Questions under way stay unanswered. */
  close(): void {
    this.#closed = true
    for (const cancel of [...this.#pending]) cancel()
  }

  async #exchange(asked: Buffer, server: { host: string; port: number }): Promise<DnsResponse | null> {
    const replied = await this.#byUdp(asked, server)
    return replied?.reply.truncated === true ? this.#byTcp(asked, server) : replied
  }

  #byUdp(asked: Buffer, { host, port }: { host: string; port: number }): Promise<DnsResponse | null> {
    const socket = createSocket({
      type: isIP(host) === 6 ? 'udp6' : 'udp4',
      lookup: (address, _options, done) => done(null, address, isIP(address)),
    })
    return this.#waiting(
      (finish) => {
        socket.on('error', () => finish(null))
        socket.on('message', (bytes) => {
          const reply = decodeReply(asked, bytes)
          if (reply !== null) finish({ reply, bytes })
        })
        socket.connect(port, host, () => {
          if (this.#closed) finish(null)
          else socket.send(asked)
        })
      },
      () => socket.close(),
    )
  }

  #byTcp(asked: Buffer, { host, port }: { host: string; port: number }): Promise<DnsResponse | null> {
    const socket = connect({ host, port })
    const chunks: Buffer[] = []
    let size = 0
    return this.#waiting(
      (finish) => {
        socket.on('error', () => finish(null))
        socket.on('close', () => finish(null))
        socket.on('connect', () => {
          const length = Buffer.alloc(2)
          length.writeUInt16BE(asked.length)
          socket.write(Buffer.concat([length, asked]))
        })
        socket.on('data', (chunk) => {
          chunks.push(chunk)
          size += chunk.length
          const all = Buffer.concat(chunks)
          if (size > MAX_BYTES + 2) finish(null)
          if (all.length < 2 || all.length < 2 + all.readUInt16BE(0)) return
          const bytes = all.subarray(2, 2 + all.readUInt16BE(0))
          const reply = decodeReply(asked, bytes)
          finish(reply === null ? null : { reply, bytes })
        })
      },
      () => socket.destroy(),
    )
  }

  /** One exchange with its deadline: ends once, and its socket with it. */
  #waiting(
    begin: (finish: (replied: DnsResponse | null) => void) => void,
    release: () => void,
  ): Promise<DnsResponse | null> {
    return new Promise((resolve) => {
      let over = false
      const finish = (replied: DnsResponse | null) => {
        if (over) return
        over = true
        timer.cancel()
        this.#pending.delete(cancel)
        release()
        resolve(replied)
      }
      const cancel = () => finish(null)
      const timer = this.#clock.after(TIMEOUT_MS, cancel)
      this.#pending.add(cancel)
      begin(finish)
    })
  }
}

/** `192.0.2.53`, `192.0.2.53:5353`, `2001:db8::53`, `[2001:db8::53]:5353`. */
function serverOf(text: string): { readonly host: string; readonly port: number } {
  if (isIP(text) !== 0) return { host: text, port: 53 }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  return { host: bracketed ?? plain ?? '', port: Number(port ?? '53') }
}
