import { getServers, lookup } from 'node:dns'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../../media/base/clock.js'
import { DnsClient, type DnsResponse } from './dns-client.js'
import { RECORD_TYPES, type RecordType, readCharacterString, readName } from './dns-message.js'

export interface SrvRecord {
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}

export interface NaptrRecord {
  readonly order: number
  readonly preference: number
  readonly flags: string
  readonly service: string
  /** The name to ask for SRV records. */
  readonly replacement: string
}

/** Records, and for how many seconds they may be remembered where the source of them says so. */
export type Records<T> = readonly T[] & { readonly ttlS?: number }

/** Questions to the DNS. A name without such records gives an empty list; failures reject. */
export interface Dns {
  naptr(name: string): Promise<Records<NaptrRecord>>
  srv(name: string): Promise<Records<SrvRecord>>
  /** IPv4 and IPv6, in order of preference. */
  addresses(name: string): Promise<Records<string>>
  close(): void
}

/** What getaddrinfo says when there is no such name. */
const NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND', 'ENONAME', 'EAI_NODATA'])
const HOSTS_FILE = '/etc/hosts'

/**
 * The machine's name servers, its hosts file before them; a name the DNS does not know is left to the
 * system, which may know other ways. With `servers` (`address[:port]`) those are asked and nobody else.
 */
export function openDns(servers: readonly string[] = [], clock?: Clock): Dns {
  const client = new DnsClient(servers.length > 0 ? servers : getServers(), clock)
  const queried = (name: string) => queriedAddresses(client, name)
  return {
    naptr: async (name) => recordsOf(await client.query(name, 'NAPTR'), 'NAPTR', readNaptr),
    srv: async (name) => recordsOf(await client.query(name, 'SRV'), 'SRV', readSrv),
    addresses: servers.length > 0 ? queried : (name) => localAddresses(name, queried),
    close: () => client.close(),
  }
}

/** The list with its shortest TTL. */
export function withTtl<T>(list: readonly T[], ttlS: number): Records<T> {
  return Object.assign([...list], { ttlS })
}

async function queriedAddresses(client: DnsClient, name: string): Promise<Records<string>> {
  const [four, six] = await Promise.all([
    client.query(name, 'A').then((replied) => recordsOf(replied, 'A', readFour)),
    client.query(name, 'AAAA').then((replied) => recordsOf(replied, 'AAAA', readSix)),
  ])
  const ttls = [four, six].flatMap(({ ttlS }) => ttlS ?? [])
  return ttls.length === 0 ? [] : withTtl([...four, ...six], Math.min(...ttls))
}

async function localAddresses(
  name: string,
  queried: (name: string) => Promise<Records<string>>,
): Promise<Records<string>> {
  if (await inHostsFile(name)) return systemAddresses(name)
  let found: Records<string>
  try {
    found = await queried(name)
  } catch (error) {
    const others = await systemAddresses(name).catch(() => [])
    if (others.length === 0) throw error
    return others
  }
  return found.length > 0 ? found : systemAddresses(name)
}

async function inHostsFile(name: string): Promise<boolean> {
  // A machine without the file has no names in it.
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '')
  const wanted = name.toLowerCase()
  return text.split('\n').some((line) => {
    const [, ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    return names.some((one) => one.toLowerCase() === wanted)
  })
}

function systemAddresses(name: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, verbatim: true }, (error, found) => {
      if (error === null) resolve(found.map((entry) => entry.address))
      else if (NONE.has(error.code ?? '')) resolve([])
      else reject(error)
    })
  })
}

/** The TTL counts aliases on the way too; records that cannot be read are left out. */
function recordsOf<T>(
  replied: DnsResponse | null,
  type: RecordType,
  read: (bytes: Buffer, start: number, end: number) => T | null,
): Records<T> {
  if (replied === null) return []
  const { bytes, reply } = replied
  const list = reply.answers.flatMap((answer) => {
    const found = answer.type === RECORD_TYPES[type] ? read(bytes, answer.start, answer.end) : null
    return found === null ? [] : [found]
  })
  return withTtl(list, Math.min(...reply.answers.map(({ ttlS }) => ttlS)))
}

function readFour(bytes: Buffer, start: number, end: number): string | null {
  return end - start === 4 ? bytes.subarray(start, end).join('.') : null
}

function readSix(bytes: Buffer, start: number, end: number): string | null {
  if (end - start !== 16) return null
  const groups = bytes.toString('hex', start, end).match(/.{4}/g) ?? []
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function readSrv(bytes: Buffer, start: number, end: number): SrvRecord | null {
  const target = end - start < 7 ? null : readName(bytes, start + 6)
  if (target === null) return null
  return {
    priority: bytes.readUInt16BE(start),
    weight: bytes.readUInt16BE(start + 2),
    port: bytes.readUInt16BE(start + 4),
    name: target.name,
  }
}

function readNaptr(bytes: Buffer, start: number, end: number): NaptrRecord | null {
  const flags = readCharacterString(bytes, start + 4, end)
  const service = flags && readCharacterString(bytes, flags.end, end)
  const expression = service && readCharacterString(bytes, service.end, end)
  const replacement = expression && readName(bytes, expression.end)
  if (!flags || !service || !replacement) return null
  return {
    order: bytes.readUInt16BE(start),
    preference: bytes.readUInt16BE(start + 2),
    flags: flags.text,
    service: service.text,
    replacement: replacement.name,
  }
}
