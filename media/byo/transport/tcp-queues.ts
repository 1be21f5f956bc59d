import { readFile } from 'node:fs/promises'
import { isIPv6, type Socket } from 'node:net'
import { addressBytes } from '../../base/address-bytes.js'
import type { Clock, Timer } from '../../base/clock.js'
import { errorText } from '../../base/errors.js'
import { CONFIRM_MS } from './bot-connection.js'

/*
 * Queues of TCP connections, as Linux tells them. Node cannot ask a socket (SIOCOUTQ).
 * https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt
 */

const IPV4_TABLE = '/proc/net/tcp'
const IPV6_TABLE = '/proc/net/tcp6'
/**
 * Reading a table costs 2 ms of a core with 262,144 hash buckets, and more with many connections. It takes at most this
 * part of the time.
 */
const SHARE = 1 / 10
/** In the table of IPv6, an IPv4 address has this before it: 0:0:0:0:0:ffff in groups of 32 bits. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')

/** A connection whose queues are read at an interval. */
export interface WatchedConnection {
  /** Called before the queues are read. Returns false when nothing needs to be known. */
  begin(): boolean
  /**
   * Called after the queues were read. `bytes` were sent and, as far as this host knows, not read: the other host did
   * not acknowledge them, or they wait in a receive buffer of this host.
   */
  end(bytes: number): void
}

interface Watched {
  readonly connection: WatchedConnection
  /** The tables in which the rows may be. */
  readonly tables: readonly string[]
  /** Beginnings of the row of this end, and of the other end if that is on this host. */
  readonly own: readonly string[]
  readonly other: readonly string[]
}

const watches = new WeakMap<Clock, TcpQueues>()

/**
 * Reads the queues of a connected socket every 100 ms until the returned function is called. Only Linux tells them;
 * elsewhere this function does nothing.
 */
export function watchTcpQueues(socket: Socket, clock: Clock, connection: WatchedConnection): () => void {
  const { localAddress, localPort, remoteAddress, remotePort } = socket
  if (process.platform !== 'linux' || localAddress === undefined || remoteAddress === undefined)
    return () => {}
  const local = tableForms(localAddress, localPort ?? 0)
  const remote = tableForms(remoteAddress, remotePort ?? 0)
  const rows = (ends: readonly string[], others: readonly string[]) =>
    ends.map((end, i) => ` ${end} ${others[i]} `)
  const sameHost = localAddress === remoteAddress
  const all = watches.get(clock) ?? new TcpQueues(clock)
  watches.set(clock, all)
  return all.watch({
    connection,
    // The server of an IPv4 connection on this host may have a socket of both families.
    tables: isIPv6(localAddress) ? [IPV6_TABLE] : sameHost ? [IPV4_TABLE, IPV6_TABLE] : [IPV4_TABLE],
    own: rows(local, remote),
    other: sameHost ? rows(remote, local) : [],
  })
}

/** Reads the tables once for all connections of a thread. */
class TcpQueues {
  readonly #clock: Clock
  readonly #watched = new Set<Watched>()
  #timer: Timer | null = null
  #reading = false
  #warned = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  watch(watched: Watched): () => void {
    this.#watched.add(watched)
    if (!this.#reading) this.#timer ??= this.#readIn(CONFIRM_MS)
    return () => {
      this.#watched.delete(watched)
      if (this.#watched.size > 0) return
      this.#timer?.cancel()
      this.#timer = null
    }
  }

  #readIn(ms: number): Timer {
    return this.#clock.after(ms, () => {
      this.#timer = null
      void this.#read()
    })
  }

  async #read(): Promise<void> {
    this.#reading = true
    const startedAtMs = this.#clock.now()
    const asked = [...this.#watched].filter(({ connection }) => connection.begin())
    const paths = new Set(asked.flatMap(({ tables }) => tables))
    const tables = await Promise.all([...paths].map((path) => this.#table(path)))
    for (const watched of asked) {
      const sent = queuesOf(tables, watched.own)
      if (sent === null || !this.#watched.has(watched)) continue
      watched.connection.end(sent.unacknowledged + (queuesOf(tables, watched.other)?.unread ?? 0))
    }
    this.#reading = false
    if (this.#watched.size === 0) return
    this.#timer = this.#readIn(Math.max(CONFIRM_MS, (this.#clock.now() - startedAtMs) / SHARE))
  }

  async #table(path: string): Promise<Buffer> {
    try {
      return await readFile(path)
    } catch (error) {
      // A system without IPv6 has no table of it.
      const absent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      if (!absent && !this.#warned) {
        this.#warned = true
        process.emitWarning(`the queues of TCP are not known: ${errorText(error)}`, {
          code: 'tcp_queues_unknown',
        })
      }
      return Buffer.alloc(0)
    }
  }
}

/** Returns an address as the tables write it, in the one of IPv4 and, or only, in the one of IPv6. */
function tableForms(address: string, port: number): readonly string[] {
  const bytes = addressBytes(address)
  const mapped = bytes.length === 4 ? Buffer.concat([MAPPED, bytes]) : bytes
  const isIpv4 = mapped.subarray(0, MAPPED.length).equals(MAPPED)
  const forms = isIpv4 ? [mapped.subarray(MAPPED.length), mapped] : [mapped]
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0')
  return forms.map((form) => {
    // Each group of 32 bits is a number of the host's byte order.
    const groups = new Uint32Array(Uint8Array.from(form).buffer)
    return `${[...groups].map((group) => hex(group, 8)).join('')}:${hex(port, 4)}`
  })
}

/** Returns the queues (bytes) of the first row that begins so, or null. */
function queuesOf(
  tables: readonly Buffer[],
  beginnings: readonly string[],
): { readonly unacknowledged: number; readonly unread: number } | null {
  for (const table of tables) {
    for (const beginning of beginnings) {
      const at = table.indexOf(beginning, 0, 'latin1')
      if (at < 0) continue
      // The state has two digits, each queue has eight: "01 00000000:00000000".
      const from = at + beginning.length + 3
      const [unacknowledged = '', unread = ''] = table.toString('latin1', from, from + 17).split(':')
      return {
        unacknowledged: Number.parseInt(unacknowledged, 16),
        unread: Number.parseInt(unread, 16),
      }
    }
  }
  return null
}
