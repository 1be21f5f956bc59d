import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIP } from 'node:net'
import { type Answer, decode, encode, RECURSION_DESIRED } from 'dns-packet'
import { type Clock, systemClock } from '../../../media/base/clock.js'
import { EngineError } from '../../../media/base/errors.js'

/** Timeout (ms) of one exchange and number of attempts: well below the patience of a caller. */
const TIMEOUT_MS = 2_000
const ATTEMPTS = 2
/** Maximum size (bytes) of a reply over TCP, the limit of its length field. */
const MAX_BYTES = 65_535
/** Largest UDP payload (bytes) that passes without fragmentation (DNS flag day 2020). */
const UDP_PAYLOAD_BYTES = 1232
/** Maximum length (bytes) of a label and of a name (RFC 1035 2.3.4). */
const MAX_LABEL_BYTES = 63
const MAX_NAME_BYTES = 253
/** Further answers are ignored. */
const MAX_ANSWERS = 128
/** Response codes (RFC 1035 4.1.1). */
const RCODE_MASK = 0xf
const NOERROR = 0
const NXDOMAIN = 3
/** The TC flag in the header: the complete reply has to be fetched over TCP. */
const TRUNCATED = 0x0200

export type RecordType = 'A' | 'AAAA' | 'SRV' | 'NAPTR'

export interface DnsReply {
  readonly rcode: number
  readonly truncated: boolean
  readonly answers: readonly Answer[]
}

/** A query as it is sent, with the values that its reply has to repeat. */
export interface DnsQuery {
  readonly id: number
  readonly name: string
  readonly type: RecordType
  readonly bytes: Buffer
}

/** Builds a recursive query with EDNS. Returns null when the name is not a domain name. */
export function dnsQuery(id: number, name: string, type: RecordType): DnsQuery | null {
  const plain = name.replace(/\.$/, '')
  const labels = plain.split('.')
  if (
    plain.length > MAX_NAME_BYTES ||
    labels.some((label) => label === '' || label.length > MAX_LABEL_BYTES)
  ) {
    return null
  }
  const bytes = encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED,
    questions: [{ type, name: plain }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: UDP_PAYLOAD_BYTES,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
  return { id, name: plain, type, bytes }
}

/** Reads the reply to a query. Returns null for another or an unreadable message. Never throws. */
export function readReply(query: DnsQuery, bytes: Buffer): DnsReply | null {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== query.id) return null
  try {
    const { type, flag_tc: truncated, questions = [], answers = [] } = decode(bytes)
    const [question] = questions
    const echoed =
      questions.length === 1 &&
      question?.type === query.type &&
      question.name.toLowerCase() === query.name.toLowerCase()
    if (type !== 'response' || !echoed) return null
    const usable = answers
      .slice(0, MAX_ANSWERS)
      .filter((answer) => 'class' in answer && answer.class === 'IN')
    return { rcode: bytes.readUInt16BE(2) & RCODE_MASK, truncated, answers: usable }
  } catch {
    // A server may cut a truncated reply in the middle of a record.
    const truncated = (bytes.readUInt16BE(2) & TRUNCATED) !== 0
    return truncated ? { rcode: NOERROR, truncated, answers: [] } : null
  }
}

/**
 * Queries name servers (`address[:port]`) directly, because the resolver of Node does not report the TTL of
 * SRV and NAPTR records. Each query has its own socket and a random id, against forged replies.
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
   * Returns null when the name is invalid or has no such records. Rejects with EngineError `sip_failed` when
   * no server answered.
   */
  async query(name: string, type: RecordType): Promise<DnsReply | null> {
    const query = dnsQuery(randomInt(0, 65_536), name, type)
    if (query === null) return null
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (const server of this.#servers) {
        const reply = await this.#exchange(query, server)
        if (reply === null) continue
        const { rcode, answers } = reply
        if (rcode === NXDOMAIN || (rcode === NOERROR && answers.length === 0)) return null
        if (rcode === NOERROR) return reply
      }
    }
    throw new EngineError('sip_failed', `no name server answers for ${name}`, { retryable: true })
  }

  /** Ends all queries without a reply. */
  close(): void {
    this.#closed = true
    for (const cancel of [...this.#pending]) cancel()
  }

  async #exchange(query: DnsQuery, server: { host: string; port: number }): Promise<DnsReply | null> {
    const reply = await this.#overUdp(query, server)
    return reply?.truncated === true ? this.#overTcp(query, server) : reply
  }

  #overUdp(query: DnsQuery, { host, port }: { host: string; port: number }): Promise<DnsReply | null> {
    const socket = createSocket({
      type: isIP(host) === 6 ? 'udp6' : 'udp4',
      lookup: (address, _options, done) => done(null, address, isIP(address)),
    })
    return this.#withTimeout(
      (finish) => {
        socket.on('error', () => finish(null))
        socket.on('message', (bytes) => {
          const reply = readReply(query, bytes)
          if (reply !== null) finish(reply)
        })
        // Without a callback, a failure to connect reaches the `error` listener.
        socket.on('connect', () => {
          if (this.#closed) finish(null)
          else socket.send(query.bytes)
        })
        socket.connect(port, host)
      },
      () => socket.close(),
    )
  }

  #overTcp(query: DnsQuery, { host, port }: { host: string; port: number }): Promise<DnsReply | null> {
    const socket = connect({ host, port })
    const chunks: Buffer[] = []
    let size = 0
    return this.#withTimeout(
      (finish) => {
        socket.on('error', () => finish(null))
        socket.on('close', () => finish(null))
        socket.on('connect', () => {
          const length = Buffer.alloc(2)
          length.writeUInt16BE(query.bytes.length)
          socket.write(Buffer.concat([length, query.bytes]))
        })
        socket.on('data', (chunk) => {
          chunks.push(chunk)
          size += chunk.length
          const all = Buffer.concat(chunks)
          if (size > MAX_BYTES + 2) finish(null)
          if (all.length < 2 || all.length < 2 + all.readUInt16BE(0)) return
          finish(readReply(query, all.subarray(2, 2 + all.readUInt16BE(0))))
        })
      },
      () => socket.destroy(),
    )
  }

  /** Runs one exchange until its reply, its timeout or `close`, and then releases its socket. */
  #withTimeout(
    begin: (finish: (reply: DnsReply | null) => void) => void,
    release: () => void,
  ): Promise<DnsReply | null> {
    return new Promise((resolve) => {
      let finished = false
      const finish = (reply: DnsReply | null) => {
        if (finished) return
        finished = true
        timer.cancel()
        this.#pending.delete(cancel)
        release()
        resolve(reply)
      }
      const cancel = () => finish(null)
      const timer = this.#clock.after(TIMEOUT_MS, cancel)
      this.#pending.add(cancel)
      begin(finish)
    })
  }
}

/** Parses `192.0.2.53`, `192.0.2.53:5353`, `2001:db8::53` or `[2001:db8::53]:5353`. */
function serverOf(text: string): { readonly host: string; readonly port: number } {
  if (isIP(text) !== 0) return { host: text, port: 53 }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  return { host: bracketed ?? plain ?? '', port: Number(port ?? '53') }
}
