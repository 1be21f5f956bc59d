import { isIP } from 'node:net'
import { type MediaDescription, parse, type SessionDescription } from 'sdp-transform'
import { FINGERPRINT_HASHES, type Fingerprint } from '../../media/rtp/dtls/identity.js'
import { type CryptoAttribute, parseCrypto } from './sdp-crypto.js'
import {
  isRtp,
  type MediaLine,
  payloadTypeOf,
  readableLines,
  readConnection,
  readMediaLine,
  readTiming,
} from './sdp-lines.js'

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
  /** `audio`, `video`, ... in lower case. */
  readonly type: string
  readonly port: number
  /** Reason why the section cannot carry the call; null when its m-line is well formed. */
  readonly wrong: string | null
  readonly protocol: string
  /** The format list as received; a refusal of the section repeats it. */
  readonly formats: readonly string[]
  readonly payloads: readonly PayloadFormat[]
  /** IP address or host name of the section's or the session's `c=` line; null without one. */
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
 * Parses a session description. It is strict about what a call needs and lenient about the rest: lines that cannot be
 * read are ignored, also those of the origin and the time. sdp-transform drops what it does not understand, so this
 * function reads the essential lines itself and leaves only attributes to it.
 */
export function parseSdp(text: string): ({ readonly ok: true } & SdpDescription) | SdpRefusal {
  if (text.length === 0) return refusal(400, 'empty session description')
  if (text.length > MAX_BYTES) return refusal(400, 'session description too long')
  const lines = readableLines(text)
  if (lines.length > MAX_LINES) return refusal(400, 'too many lines')
  if (lines[0] !== 'v=0') return refusal(400, 'not a session description: no v=0')

  const mediaLines: MediaLine[] = []
  /** The address of the session and of each section. */
  let session: string | null = null
  const addresses: (string | null)[] = []
  let timing: string | null = null
  const kept: string[] = []
  for (const line of lines) {
    const section = mediaLines.length - 1
    if (line.startsWith('c=')) {
      const host = readConnection(line)
      if (section < 0) session ??= host
      else addresses[section] ??= host
    } else if (line.startsWith('t=')) timing ??= readTiming(line)
    else if (line.startsWith('m=')) {
      const media = readMediaLine(line)
      mediaLines.push(media)
      // sdp-transform counts sections of this form only.
      kept.push(`m=audio 9 RTP/AVP ${media.formats.join(' ') || '0'}`)
    } else kept.push(line)
  }
  if (mediaLines.length > MAX_SECTIONS) return refusal(488, 'too many media')
  if (mediaLines.length === 0) return refusal(488, 'no media')

  const parsed = parse(kept.join('\r\n'))
  const media: MediaSection[] = []
  for (const [index, { type, port, protocol, formats }] of mediaLines.entries()) {
    const attributes = parsed.media[index]
    if (!attributes) return refusal(400, 'bad m= line')
    media.push({
      type,
      port: port ?? 0,
      wrong: port === null || (port > 0 && formats.length === 0) ? 'bad m= line' : null,
      protocol,
      formats,
      payloads: isRtp(protocol) ? readPayloads(formats, attributes) : [],
      address: addresses[index] ?? session,
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
      ptimeMs: readDuration(attributes.ptime),
      maxPtimeMs: readDuration(attributes.maxptime),
    })
  }
  return { ok: true, media, timing: timing ?? '0 0' }
}

/** Returns a packet duration (ms); null without a usable one. */
function readDuration(value: unknown): number | null {
  return typeof value === 'number' && value > 0 ? value : null
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

/** Returns the payload types of an RTP section that have a meaning. */
function readPayloads(formats: readonly string[], attributes: MediaDescription): readonly PayloadFormat[] {
  const payloads: PayloadFormat[] = []
  for (const format of formats) {
    const payloadType = payloadTypeOf(format)
    if (payloadType === null) continue
    const fmtp = String(attributes.fmtp.find((line) => Number(line.payload) === payloadType)?.config ?? '')
    const mapped = attributes.rtp.find((map) => Number(map.payload) === payloadType)
    const fixed = STATIC_FORMATS[payloadType]
    if (mapped) {
      const rate = Number(mapped.rate) || (fixed?.[1] ?? 8000)
      const encoding = String(mapped.codec).toUpperCase()
      payloads.push({ payloadType, encoding, rate, channels: Number(mapped.encoding) || 1, fmtp })
    } else if (fixed) payloads.push({ payloadType, encoding: fixed[0], rate: fixed[1], channels: 1, fmtp })
  }
  return payloads
}
