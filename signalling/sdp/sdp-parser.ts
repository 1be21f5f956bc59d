import { isIP } from 'node:net'
import { type MediaDescription, parse, type SessionDescription } from 'sdp-transform'
import { FINGERPRINT_HASHES, type Fingerprint } from '../../media/rtp/dtls/identity.js'
import { type CryptoAttribute, parseCrypto } from './sdp-crypto.js'

export type MediaDirection = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

/** One payload type of an m-line, as its rtpmap (or the static table of RFC 3551) defines it. */
export interface PayloadFormat {
  readonly payloadType: number
  /** Upper case. */
  readonly encoding: string
  readonly rate: number
  readonly channels: number
  /** Value of `a=fmtp`; empty without one. */
  readonly fmtp: string
}

export interface MediaSection {
  /** `audio`, `video`, ... as received. */
  readonly type: string
  readonly port: number
  readonly protocol: string
  /** The format list as received; a refusal of the section repeats it. */
  readonly formats: string
  readonly payloads: readonly PayloadFormat[]
  /** IP address of the section's or the session's `c=` line; null without one. */
  readonly address: string | null
  readonly direction: MediaDirection
  /** RFC 5761. */
  readonly rtcpMux: boolean
  /** `a=rtcp` (RFC 3605); a null address means the address of RTP. */
  readonly rtcp: { readonly port: number; readonly address: string | null } | null
  /** The bandwidth of RTCP is zero: no RTCP is wanted (RFC 3556). */
  readonly noRtcp: boolean
  /** The usable `a=crypto` attributes, in order. */
  readonly crypto: readonly CryptoAttribute[]
  /** The tag of `a=mid` (RFC 5888); null without one. */
  readonly mid: string | null
  /** The section is in the first `a=group:BUNDLE` (RFC 9143). */
  readonly bundled: boolean
  readonly iceUfrag: string | null
  readonly icePassword: string | null
  /** Null when it is absent or its hash is not strong enough. */
  readonly fingerprint: Fingerprint | null
  /** The DTLS role of `a=setup` (RFC 8842); null when absent. */
  readonly setup: string | null
  /** Packet duration (ms) that the sender of this description wants to receive; null when not given. */
  readonly ptimeMs: number | null
  /** Longest packet duration (ms) that the sender of this description accepts; null when not limited. */
  readonly maxPtimeMs: number | null
}

export interface SdpDescription {
  readonly media: readonly MediaSection[]
  /** Value of `t=`, which an answer repeats (RFC 3264 section 6). */
  readonly timing: string
}

/** Why a description cannot be used: 400 when it is not SDP, 488 when we cannot serve it. */
export interface SdpRefusal {
  readonly ok: false
  readonly sip: 400 | 488
  readonly reason: string
}

export function refusal(sip: 400 | 488, reason: string): SdpRefusal {
  return { ok: false, sip, reason }
}

// A voice offer is below 2 KB; an offer of a browser with video stays below 16 KB.
const MAX_BYTES = 32_768
const MAX_SECTIONS = 16
const MAX_LINES = 1000

const MEDIA_LINE = /^m=([\w-]+) (\d{1,5})(?:\/\d+)? ([\w/-]+) (\S+(?: \S+)*) ?$/
const ORIGIN_LINE = /^o=\S+ \d+ \d+ IN IP[46] \S+ ?$/
const CONNECTION_LINE = /^c=IN IP([46]) ([^\s/]+)(?:\/\d+)* ?$/
const TIME_LINE = /^t=(\d+ \d+) ?$/

/** `ice-char` of RFC 8839 section 5.4, with its bounds. */
const UFRAG = /^[A-Za-z0-9+/]{4,256}$/
const ICE_PASSWORD = /^[A-Za-z0-9+/]{22,256}$/
const DIGEST = /^[0-9A-F]{2}(?::[0-9A-F]{2})+$/

/** Payload types that need no rtpmap (RFC 3551 section 6). */
const STATIC_FORMATS: Readonly<Record<number, readonly [string, number]>> = {
  0: ['PCMU', 8000],
  3: ['GSM', 8000],
  4: ['G723', 8000],
  8: ['PCMA', 8000],
  9: ['G722', 8000],
  10: ['L16', 44_100],
  11: ['L16', 44_100],
  13: ['CN', 8000],
  18: ['G729', 8000],
}

/**
 * Parses a session description strictly. sdp-transform accepts anything and drops what it does not
 * understand, so this function checks the essential lines first and leaves only attributes to it.
 */
export function parseSdp(text: string): ({ readonly ok: true } & SdpDescription) | SdpRefusal {
  if (text.length === 0) return refusal(400, 'empty session description')
  if (text.length > MAX_BYTES) return refusal(400, 'session description too long')
  const lines = text.split(/\r\n|\n|\r/)
  while (lines.length > 0 && lines[lines.length - 1] === '') lines.pop()
  if (lines.length > MAX_LINES) return refusal(400, 'too many lines')
  if (lines[0] !== 'v=0') return refusal(400, 'not a session description: no v=0')

  const mediaLines: RegExpExecArray[] = []
  let origin = false
  let timing: string | null = null
  for (const line of lines) {
    if (!/^[a-z]=/.test(line)) return refusal(400, 'not a session description: bad line')
    if (line.startsWith('o=')) {
      if (!ORIGIN_LINE.test(line) || origin) return refusal(400, 'bad o= line')
      origin = true
    } else if (line.startsWith('c=')) {
      const match = CONNECTION_LINE.exec(line)
      if (!match) return refusal(400, 'bad c= line')
      const [, family, host = ''] = match
      if (isIP(host) === 0) return refusal(488, 'c= must hold an IP address, not a host name')
      if (String(isIP(host)) !== family) return refusal(400, 'bad address in c= line')
    } else if (line.startsWith('t=')) {
      const match = TIME_LINE.exec(line)
      if (!match) return refusal(400, 'bad t= line')
      timing ??= match[1] ?? null
    } else if (line.startsWith('m=')) {
      const match = MEDIA_LINE.exec(line)
      if (!match || Number(match[2]) > 65_535) return refusal(400, 'bad m= line')
      mediaLines.push(match)
    }
  }
  if (!origin) return refusal(400, 'no o= line')
  if (mediaLines.length > MAX_SECTIONS) return refusal(488, 'too many media')
  if (mediaLines.length === 0) return refusal(488, 'no media')

  const parsed = parse(lines.join('\r\n'))
  const media: MediaSection[] = []
  for (const [index, match] of mediaLines.entries()) {
    const attributes = parsed.media[index]
    const [, type = '', port = '0', protocol = '', formats = ''] = match
    if (!attributes) return refusal(400, 'bad m= line')
    const payloads = readPayloads(protocol, formats, attributes)
    if (!payloads) return refusal(400, 'bad payload type')
    media.push({
      type,
      port: Number(port),
      protocol,
      formats,
      payloads,
      address: attributes.connection?.ip ?? parsed.connection?.ip ?? null,
      direction: attributes.direction ?? sessionDirection(parsed.direction) ?? 'sendrecv',
      rtcpMux: attributes.rtcpMux === 'rtcp-mux',
      rtcp: readRtcp(attributes.rtcp),
      noRtcp:
        attributes.bandwidth?.filter(({ type, limit }) => /^R[RS]$/.test(type) && limit === 0).length === 2,
      crypto: (attributes.crypto ?? []).flatMap(
        ({ id, suite, config, sessionConfig = '' }) =>
          parseCrypto(String(id), suite, config, sessionConfig) ?? [],
      ),
      ...readDtlsAttributes(attributes, parsed),
      ptimeMs: typeof attributes.ptime === 'number' ? attributes.ptime : null,
      maxPtimeMs: typeof attributes.maxptime === 'number' ? attributes.maxptime : null,
    })
  }
  return { ok: true, media, timing: timing ?? '0 0' }
}

/** Attributes of a section, or those of the session that it does not repeat. */
function readDtlsAttributes(section: MediaDescription, session: SessionDescription) {
  const mid = section.mid === undefined ? null : String(section.mid)
  const bundle = session.groups?.find(({ type }) => type === 'BUNDLE')
  const setup = section.setup ?? session.setup
  return {
    mid,
    bundled:
      mid !== null &&
      String(bundle?.mids ?? '')
        .split(' ')
        .includes(mid),
    iceUfrag: iceText(section.iceUfrag ?? session.iceUfrag, UFRAG),
    icePassword: iceText(section.icePwd ?? session.icePwd, ICE_PASSWORD),
    fingerprint: readFingerprint(section.fingerprint ?? session.fingerprint),
    setup: setup === undefined ? null : String(setup),
  }
}

function iceText(value: unknown, form: RegExp): string | null {
  const text = String(value ?? '')
  return form.test(text) ? text : null
}

function readFingerprint(value: MediaDescription['fingerprint']): Fingerprint | null {
  const hash = FINGERPRINT_HASHES.find((name) => name === String(value?.type).toLowerCase())
  const digest = String(value?.hash).toUpperCase()
  if (hash === undefined || !DIGEST.test(digest)) return null
  // A byte takes three characters, the last one two.
  return (digest.length + 1) * 8 === Number(hash.slice('sha-'.length)) * 3 ? { hash, digest } : null
}

function sessionDirection(value: unknown): MediaDirection | null {
  return value === 'sendrecv' || value === 'sendonly' || value === 'recvonly' || value === 'inactive'
    ? value
    : null
}

function readRtcp(value: MediaDescription['rtcp']): MediaSection['rtcp'] {
  if (value === undefined || !(value.port > 0 && value.port <= 65_535)) return null
  const { address } = value
  return { port: value.port, address: address !== undefined && isIP(address) !== 0 ? address : null }
}

/**
 * Returns the payload types of an RTP section; null when a format is not a payload type. Other protocols have
 * other formats.
 */
function readPayloads(
  protocol: string,
  formats: string,
  attributes: MediaDescription,
): readonly PayloadFormat[] | null {
  if (!/(^|\/)RTP\//.test(protocol)) return []
  const payloads: PayloadFormat[] = []
  for (const format of formats.split(' ')) {
    const payloadType = Number(format)
    if (!/^\d{1,3}$/.test(format) || payloadType > 127) return null
    const fmtp = String(attributes.fmtp.find((line) => Number(line.payload) === payloadType)?.config ?? '')
    const mapped = attributes.rtp.find((map) => Number(map.payload) === payloadType)
    if (mapped) {
      const rate = Number(mapped.rate)
      const encoding = String(mapped.codec).toUpperCase()
      payloads.push({ payloadType, encoding, rate, channels: Number(mapped.encoding ?? 1), fmtp })
      continue
    }
    const fixed = STATIC_FORMATS[payloadType]
    if (fixed) payloads.push({ payloadType, encoding: fixed[0], rate: fixed[1], channels: 1, fmtp })
  }
  return payloads
}
