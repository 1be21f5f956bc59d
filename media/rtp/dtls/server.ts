import {
  createHmac,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
  X509Certificate,
} from 'node:crypto'
import type { Clock, Timer } from '../../base/clock.js'
import { SRTP_SUITES } from '../srtp/key-derivation.js'
import type { SrtpKeys, SrtpSuiteName } from '../srtp/keying.js'
import { ReplayWindow } from '../srtp/replay-window.js'
import { ALERTS, type AlertName, ByteReader, DtlsFailure, uint, vector } from './bytes.js'
import {
  CIPHER_SUITE,
  type ClientHello,
  readClientHello,
  readCookie,
  SIGNATURE_SCHEME,
  SRTP_PROFILES,
  writeServerHello,
} from './hello.js'
import { type DtlsIdentity, type Fingerprint, fingerprintOf } from './identity.js'
import { createEphemeralKey, type EphemeralKey } from './key-agreement.js'
import { extendedMasterSecret, prf, type RecordKey, recordKeys, verifyData } from './key-schedule.js'
import { HANDSHAKE, type HandshakeMessage, HandshakeReassembly, handshakeBytes } from './reassembly.js'
import { CONTENT, DTLS_1_2, type DtlsRecord, openRecord, splitRecords, writeRecord } from './record.js'

/** DTLS 1.0. A HelloVerifyRequest states it, whatever is negotiated later (RFC 6347 section 4.2.1). */
const DTLS_1_0 = 0xfeff
/** First wait for an answer (ms), doubled each time. RFC 6347 section 4.2.4.1 allows less than 1 s for calls. */
const RETRANSMIT_MS = 400
/** The handshake fails after this time (ms). */
const HANDSHAKE_MS = 30_000
/** A flight is sent at most this often, also when the client repeats its own. */
const MAX_SENDS = 8
/** Highest record number that a hello can have before the replies leave it. */
const MAX_HELLO_RECORD = 2 ** 32
/** After a message that cannot be right, the client has this time to finish the handshake (ms). */
const DOUBT_MS = 5_000
/** Messages that cannot be right, after which the handshake fails at once. Each costs a signature check at most. */
const MAX_DOUBTS = 200
/** A datagram that passes every path (RFC 8831 section 5 assumes 1200 bytes). */
const MAX_DATAGRAM_BYTES = 1200
const ECDSA_SIGN = 64
const NAMED_CURVE = 3

/** Why an association ended. `alert`: the client sent a fatal one; any other name: the alert that Parley sent. */
export type DtlsEnd = 'closed' | 'timeout' | 'alert' | AlertName

export interface DtlsServerOptions {
  readonly clock: Clock
  readonly identity: DtlsIdentity
  /** The fingerprints of the client's SDP. Its certificate must have one of them. */
  readonly fingerprints: readonly Fingerprint[]
  /** SRTP suites that may be used; all by default. Parley's order decides. */
  readonly suites?: readonly SrtpSuiteName[]
  /** Sends a datagram to an address from which `receive` was called. */
  readonly send: (datagram: Buffer, to: string) => void
  /** Takes the SRTP keys, once: both sides have proved who they are. */
  readonly onKeys: (keys: SrtpKeys) => void
  /** Takes the end of the association, once, with a reason for the log. */
  readonly onEnd: (end: DtlsEnd, reason: string) => void
}

type Expected = 'hello' | 'certificate' | 'keyExchange' | 'verify' | 'finished' | 'nothing'

/** A handshake message or ChangeCipherSpec of the current flight, for retransmission. */
interface FlightRecord {
  readonly type: number
  readonly epoch: number
  readonly content: Buffer
}

/**
 * The server side of one DTLS 1.2 association (RFC 6347) that makes SRTP keys (RFC 5764), with what RFC 8827 section
 * 6.5 demands and no more: ECDHE-ECDSA-AES128-GCM-SHA256 with P-256 or X25519, P-256 certificates on both sides, the
 * extended master secret. No resumption, no renegotiation, no application data.
 *
 * It has no socket: `receive` takes datagrams, `send` gets them. The caller passes on only addresses that ICE has
 * validated. Before the cookie comes back, no address gets more bytes than it sent. Bad records are dropped. What is not
 * encrypted is ignored once the keys are proved.
 *
 * Before that, a third party that knows the client's address can forge handshake messages. So a bad message ends the association
 * with an alert only if its sender proved that it reads the server's messages: by the cookie, by a signature over them, or
 * by the keys. Any other bad message takes the client's flight back: the client sends it again (RFC 6347 section 4.2.4),
 * and has some seconds for a handshake without mistakes.
 */
export class DtlsServer {
  /** Records that were dropped: malformed, of another epoch, forged or repeated. */
  dropped = 0
  readonly #options: DtlsServerOptions
  /** Of this association alone: a cookie of another one proves nothing here. */
  readonly #cookieKey = randomBytes(32)
  readonly #deadline: Timer
  readonly #reassembly = new HandshakeReassembly()
  #replay = new ReplayWindow()
  /** Handshake messages as they are hashed: without the first ClientHello and the HelloVerifyRequest. */
  #transcript: Buffer[] = []
  #expected: Expected = 'hello'
  #ended = false
  #connected = false
  /** Source of the last message in order, or of its repetition. */
  #peer = ''
  /** Bytes that may still be sent to `#peer` before its cookie came back. */
  #allowance = 0
  #sendMessage = 0
  /** Record number of the client's last message without encryption. */
  #received = 0
  /** The last alert without encryption; null without one. */
  #plainAlert: number | null = null
  /** Next record number of each epoch. */
  readonly #sendRecord: [number, number] = [0, 0]
  #flight: FlightRecord[] = []
  /** The last message of the client's flight that the current flight answers. Its repetition asks for our flight. */
  #answered = -1
  #sends = 0
  #timer: Timer | null = null
  /** Source of the hello with the cookie. */
  #helloFrom = ''
  /** Messages of the transcript up to the server's first flight. */
  #greeted = 0
  #doubts = 0
  /** True if a hello of this datagram got a cookie. One reply to a datagram is enough. */
  #repliedToHello = false
  /** Fails the handshake after a message that cannot be right. */
  #doubt: Timer | null = null
  #clientRandom: Buffer = Buffer.alloc(0)
  #serverRandom: Buffer = Buffer.alloc(0)
  #profile: (typeof SRTP_PROFILES)[number] | null = null
  #ephemeral: EphemeralKey | null = null
  #clientKey: KeyObject | null = null
  /** The client showed another certificate than that of the SDP. */
  #isForeign = false
  #master: Buffer = Buffer.alloc(0)
  #receiveKey: RecordKey | null = null
  #sendKey: RecordKey | null = null

  constructor(options: DtlsServerOptions) {
    this.#options = options
    this.#deadline = options.clock.after(HANDSHAKE_MS, () =>
      this.#end('timeout', `the handshake took too long${this.#alertText()}`),
    )
  }

  /**
   * Takes a datagram.
   *
   * @param from the sender's address and port in any form; replies go to it
   */
  receive(datagram: Uint8Array, from: string): void {
    if (this.#ended) return
    if (!this.#verified) {
      if (from !== this.#peer) this.#allowance = 0
      this.#peer = from
      this.#allowance += datagram.length
    }
    this.#repliedToHello = false
    const records = splitRecords(datagram)
    if (records.length === 0) this.dropped++
    try {
      for (const record of records) if (!this.#ended) this.#takeRecord(record, from)
    } catch (error) {
      if (!(error instanceof DtlsFailure)) throw error
      if (error.isProved) this.#fail(error)
      else this.#takeBack(error)
    }
  }

  #fail({ alert, message }: DtlsFailure): void {
    this.#alert(alert)
    this.#end(alert, message)
  }

  /** Forgets the client's flight, in which something was wrong. */
  #takeBack(failure: DtlsFailure): void {
    this.dropped++
    if (++this.#doubts > MAX_DOUBTS) {
      this.#fail(failure)
      return
    }
    this.#doubt ??= this.#options.clock.after(DOUBT_MS, () => this.#fail(failure))
    this.#expected = 'certificate'
    this.#peer = this.#helloFrom
    this.#transcript.length = this.#greeted
    this.#reassembly.restart(this.#answered + 1)
    this.#replay = new ReplayWindow()
    this.#receiveKey = null
    this.#sendKey = null
  }

  #alertText(): string {
    return this.#plainAlert === null ? '' : `; the client sent alert ${this.#plainAlert}`
  }

  /** Says goodbye to the client. Idempotent. */
  close(): void {
    if (this.#ended) return
    this.#alert('close_notify')
    this.#end('closed', 'closed by the caller')
  }

  /** Returns keying material that both sides share (RFC 5705 without context). Only after `onKeys`. */
  exportKeys(label: string, bytes: number): Buffer {
    if (!this.#connected) throw new Error('keys are exported before the handshake ended')
    return prf(this.#master, label, Buffer.concat([this.#clientRandom, this.#serverRandom]), bytes)
  }

  /** True when a cookie came back, so that the client receives at one of its addresses. */
  get #verified(): boolean {
    return this.#expected !== 'hello'
  }

  #takeRecord(record: DtlsRecord, from: string): void {
    const content = this.#open(record)
    if (content === null) {
      this.dropped++
      return
    }
    // ChangeCipherSpec needs no action: the epoch of each record states its keys. No application data is expected.
    if (record.type === CONTENT.alert) this.#takeAlert(content, record.epoch)
    else if (record.type === CONTENT.handshake) this.#takeHandshake(content, record.epoch, from)
  }

  /** Returns the plain content of a record; null when it must be dropped. */
  #open(record: DtlsRecord): Buffer | null {
    if (record.epoch === 0) {
      if (this.#connected) return null
      this.#received = record.sequence
      return record.body
    }
    if (record.epoch !== 1 || this.#receiveKey === null || !this.#replay.isFresh(record.sequence)) return null
    const content = openRecord(record, this.#receiveKey)
    if (content !== null) this.#replay.add(record.sequence)
    return content
  }

  /**
   * Takes an alert. An unencrypted one may come from a third party that forges the address of the client, so it does
   * not end the handshake (RFC 6347 4.1.2.7). If the handshake takes too long, the error names it.
   */
  #takeAlert(content: Buffer, epoch: number): void {
    if (content.length !== 2) return
    const [level, description] = content
    if (epoch === 0) {
      this.dropped++
      this.#plainAlert = description ?? null
      return
    }
    if (description === ALERTS.close_notify) this.#end('closed', 'closed by the client')
    else if (level === 2) this.#end('alert', `the client sent alert ${description}`)
  }

  #takeHandshake(content: Buffer, epoch: number, from: string): void {
    if (!this.#verified) {
      this.#reassembly.add(content, epoch)
      for (let hello = this.#reassembly.takeAny(); hello !== null; hello = this.#reassembly.takeAny()) {
        this.#takeHello(hello, from)
      }
      return
    }
    const repeated = this.#reassembly.add(content, epoch)
    if (repeated !== null && repeated === this.#answered) {
      this.#peer = from
      this.#sendFlight()
    }
    for (let message = this.#reassembly.take(); message !== null; message = this.#reassembly.take()) {
      // A client that asks for another handshake gets no answer (RFC 5246 section 7.4.1.1).
      if (this.#connected) continue
      this.#peer = from
      this.#takeMessage(message)
    }
  }

  #takeMessage(message: HandshakeMessage): void {
    const { type, body } = message
    const isFinished = type === HANDSHAKE.finished
    if (isFinished !== (message.epoch === 1) || type !== TYPE_OF[this.#expected])
      throw new DtlsFailure('unexpected_message', `message ${type} instead of ${this.#expected}`)
    const hashed = handshakeBytes(type, message.sequence, body)
    switch (this.#expected) {
      case 'certificate':
        this.#takeCertificate(body)
        this.#transcript.push(hashed)
        this.#expected = 'keyExchange'
        return
      case 'keyExchange':
        this.#transcript.push(hashed)
        this.#takeKeyExchange(body)
        this.#expected = 'verify'
        return
      case 'verify':
        this.#takeVerify(body)
        // Only the client can sign, so it has the whole time again.
        this.#doubt?.cancel()
        this.#doubt = null
        this.#transcript.push(hashed)
        this.#expected = 'finished'
        return
      default:
        this.#takeFinished(body, message.sequence, hashed)
    }
  }

  /**
   * Takes a hello. Without its cookie it is answered with one, and changes nothing, because a third party may have sent
   * it (RFC 6347 section 4.2.1).
   */
  #takeHello({ type, sequence, body }: HandshakeMessage, from: string): void {
    const given = type === HANDSHAKE.clientHello ? cookieIn(body) : null
    if (given === null) {
      this.dropped++
      return
    }
    // The replies to a hello have its record number (RFC 6347 section 4.2.1). No number is used twice, and none runs
    // out of its 48 bits.
    this.#sendRecord[0] = Math.max(this.#sendRecord[0], Math.min(this.#received, MAX_HELLO_RECORD))
    this.#sendMessage = sequence
    const cookie = this.#cookieOf(given)
    if (given.cookie.length !== cookie.length || !timingSafeEqual(given.cookie, cookie)) {
      if (this.#repliedToHello) {
        this.dropped++
        return
      }
      this.#repliedToHello = true
      const request = Buffer.concat([uint(DTLS_1_0, 2), vector(1, cookie)])
      const content = handshakeBytes(HANDSHAKE.helloVerifyRequest, sequence, request)
      this.#sendDatagram(this.#record(CONTENT.handshake, 0, content))
      return
    }
    const hello = this.#negotiate(body)
    this.#helloFrom = from
    this.#transcript = [handshakeBytes(type, sequence, body)]
    this.#expected = 'certificate'
    this.#reassembly.restart(sequence + 1)
    this.#beginFlight(sequence)
    this.#addServerMessages(hello)
    this.#greeted = this.#transcript.length
    this.#sendFlight()
  }

  /**
   * Binds the client's random number, which is the same in both hellos. Suites and extensions of the second one may
   * differ: a client drops those of DTLS 1.3. The address may differ, too: ICE, which has validated all of them, may
   * select another one between the hellos, and Chromium fails at a second HelloVerifyRequest.
   */
  #cookieOf({ random }: Pick<ClientHello, 'random'>): Buffer {
    return createHmac('sha256', this.#cookieKey).update(random).digest()
  }

  /** Reads a hello with its cookie and chooses profile and group, or throws what the client lacks. */
  #negotiate(body: Buffer): ClientHello {
    try {
      return this.#chooseFrom(readClientHello(body))
    } catch (error) {
      if (!(error instanceof DtlsFailure)) throw error
      throw new DtlsFailure(error.alert, error.message, { isProved: true })
    }
  }

  #chooseFrom(hello: ClientHello): ClientHello {
    const { suites } = this.#options
    // Versions count downwards: 0xfefd is 1.2, 0xfeff is 1.0.
    if (hello.version >>> 8 !== 0xfe || hello.version > DTLS_1_2)
      throw new DtlsFailure('protocol_version', 'the client does not speak DTLS 1.2')
    this.#profile =
      SRTP_PROFILES.find(
        ({ id, suite }) => hello.profiles.includes(id) && (suites === undefined || suites.includes(suite)),
      ) ?? null
    if (!hello.suites.includes(CIPHER_SUITE))
      throw new DtlsFailure('handshake_failure', 'the client lacks ECDHE-ECDSA-AES128-GCM-SHA256')
    if (!hello.compressions.includes(0))
      throw new DtlsFailure('illegal_parameter', 'the client demands compression')
    if (!hello.extendedMasterSecret)
      throw new DtlsFailure('handshake_failure', 'the client lacks the extended master secret')
    if (!hello.signatures.includes(SIGNATURE_SCHEME))
      throw new DtlsFailure('handshake_failure', 'the client lacks ecdsa_secp256r1_sha256')
    if (this.#profile === null) throw new DtlsFailure('handshake_failure', 'no SRTP profile in common')
    this.#ephemeral = createEphemeralKey(hello.groups)
    if (this.#ephemeral === null)
      throw new DtlsFailure('handshake_failure', 'the client lacks P-256, the curve of the certificates')
    this.#clientRandom = hello.random
    this.#serverRandom = randomBytes(32)
    return hello
  }

  #addServerMessages(hello: ClientHello): void {
    const { certificate, privateKey } = this.#options.identity
    const { group, publicValue } = known(this.#ephemeral)
    const parameters = Buffer.concat([uint(NAMED_CURVE, 1), uint(group, 2), vector(1, publicValue)])
    const signed = Buffer.concat([this.#clientRandom, this.#serverRandom, parameters])
    this.#addMessage(
      HANDSHAKE.serverHello,
      writeServerHello(hello, this.#serverRandom, known(this.#profile).id),
    )
    this.#addMessage(HANDSHAKE.certificate, vector(3, vector(3, certificate)))
    this.#addMessage(
      HANDSHAKE.serverKeyExchange,
      Buffer.concat([parameters, uint(SIGNATURE_SCHEME, 2), vector(2, sign('sha256', signed, privateKey))]),
    )
    this.#addMessage(
      HANDSHAKE.certificateRequest,
      Buffer.concat([vector(1, uint(ECDSA_SIGN, 1)), vector(2, uint(SIGNATURE_SCHEME, 2)), vector(2)]),
    )
    this.#addMessage(HANDSHAKE.serverHelloDone, Buffer.alloc(0))
  }

  /**
   * Takes the client's certificate. Another one than that of the SDP is refused once its owner has signed: only then it is
   * known to come from the client.
   */
  #takeCertificate(body: Buffer): void {
    const reader = new ByteReader(body)
    const list = reader.vector(3)
    reader.end()
    if (list.length === 0) throw new DtlsFailure('handshake_failure', 'the client sent no certificate')
    const certificate = new ByteReader(list).vector(3, 1)
    const matches = this.#options.fingerprints.some(
      ({ hash, digest }) => fingerprintOf(certificate, hash).digest === digest,
    )
    this.#isForeign = !matches
    this.#clientKey = publicKeyOf(certificate)
  }

  #takeKeyExchange(body: Buffer): void {
    const reader = new ByteReader(body)
    const point = reader.vector(1, 1)
    reader.end()
    const premaster = known(this.#ephemeral).agree(point)
    this.#master = extendedMasterSecret(premaster, this.#transcript)
    const keys = recordKeys(this.#master, this.#clientRandom, this.#serverRandom)
    this.#receiveKey = keys.client
    this.#sendKey = keys.server
  }

  /** Checks that the client has the key of its certificate (RFC 5246 section 7.4.8). */
  #takeVerify(body: Buffer): void {
    const reader = new ByteReader(body)
    const scheme = reader.uint(2)
    const signature = reader.vector(2, 1)
    reader.end()
    if (scheme !== SIGNATURE_SCHEME)
      throw new DtlsFailure('illegal_parameter', `signature scheme ${scheme} was not offered`)
    if (!verify('sha256', Buffer.concat(this.#transcript), known(this.#clientKey), signature))
      throw new DtlsFailure('decrypt_error', 'the client does not have the key of its certificate')
    if (this.#isForeign) {
      const isProved = true
      throw new DtlsFailure('bad_certificate', 'the certificate is not the one of the SDP', { isProved })
    }
  }

  #takeFinished(body: Buffer, sequence: number, hashed: Buffer): void {
    const expected = verifyData(this.#master, 'client', this.#transcript)
    if (body.length !== expected.length || !timingSafeEqual(body, expected))
      throw new DtlsFailure('decrypt_error', 'the handshake was changed on its way', { isProved: true })
    this.#transcript.push(hashed)
    this.#beginFlight(sequence)
    this.#flight.push({ type: CONTENT.changeCipherSpec, epoch: 0, content: Buffer.from([1]) })
    this.#addMessage(HANDSHAKE.finished, verifyData(this.#master, 'server', this.#transcript), 1)
    this.#transcript = []
    this.#expected = 'nothing'
    this.#connected = true
    this.#ephemeral = null
    this.#deadline.cancel()
    this.#doubt?.cancel()
    this.#sendFlight()
    this.#options.onKeys(this.#srtpKeys(known(this.#profile).suite))
  }

  /** RFC 5764 section 4.2: both keys, then both salts, those of the client first. */
  #srtpKeys(suite: SrtpSuiteName): SrtpKeys {
    const { keyBytes, saltBytes } = SRTP_SUITES[suite]
    const block = this.exportKeys('EXTRACTOR-dtls_srtp', 2 * (keyBytes + saltBytes))
    const part = (side: 0 | 1) => ({
      keyAndSalt: Buffer.concat([
        block.subarray(side * keyBytes, (side + 1) * keyBytes),
        block.subarray(2 * keyBytes + side * saltBytes, 2 * keyBytes + (side + 1) * saltBytes),
      ]),
      mki: null,
    })
    return { suite, receive: part(0), send: part(1) }
  }

  #beginFlight(answered: number): void {
    this.#flight = []
    this.#answered = answered
    this.#sends = 0
  }

  #addMessage(type: number, body: Buffer, epoch: 0 | 1 = 0): void {
    const content = handshakeBytes(type, this.#sendMessage++, body)
    this.#flight.push({ type: CONTENT.handshake, epoch, content })
    this.#transcript.push(content)
  }

  /** Sends the flight, again when it was sent before, and waits for the answer. */
  #sendFlight(): void {
    if (this.#sends === MAX_SENDS) return
    this.#sends++
    let datagram: Buffer[] = []
    let bytes = 0
    for (const { type, epoch, content } of this.#flight) {
      const record = this.#record(type, epoch as 0 | 1, content)
      if (bytes > 0 && bytes + record.length > MAX_DATAGRAM_BYTES) {
        this.#sendDatagram(Buffer.concat(datagram))
        datagram = []
        bytes = 0
      }
      datagram.push(record)
      bytes += record.length
    }
    this.#sendDatagram(Buffer.concat(datagram))
    this.#timer?.cancel()
    // The last flight is repeated only on demand (section 4.2.4).
    if (this.#connected) return
    const waitMs = RETRANSMIT_MS * 2 ** (this.#sends - 1)
    this.#timer = this.#options.clock.after(waitMs, () => this.#sendFlight())
  }

  #record(type: number, epoch: 0 | 1, content: Buffer): Buffer {
    return writeRecord(
      type,
      epoch,
      this.#sendRecord[epoch]++,
      content,
      epoch === 0 ? null : known(this.#sendKey),
    )
  }

  #sendDatagram(datagram: Buffer): void {
    if (!this.#verified) {
      if (datagram.length > this.#allowance) return
      this.#allowance -= datagram.length
    }
    this.#options.send(datagram, this.#peer)
  }

  #alert(name: AlertName): void {
    if (this.#peer === '') return
    const content = Buffer.from([name === 'close_notify' ? 1 : 2, ALERTS[name]])
    this.#sendDatagram(this.#record(CONTENT.alert, this.#connected ? 1 : 0, content))
  }

  #end(end: DtlsEnd, reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#deadline.cancel()
    this.#doubt?.cancel()
    this.#timer?.cancel()
    this.#options.onEnd(end, reason)
  }
}

const TYPE_OF: Readonly<Record<Expected, number | null>> = {
  hello: HANDSHAKE.clientHello,
  certificate: HANDSHAKE.certificate,
  keyExchange: HANDSHAKE.clientKeyExchange,
  verify: HANDSHAKE.certificateVerify,
  finished: HANDSHAKE.finished,
  nothing: null,
}

/** Returns the first fields of a hello; null when it is none. */
function cookieIn(body: Buffer): Pick<ClientHello, 'random' | 'cookie'> | null {
  try {
    return readCookie(body)
  } catch (error) {
    if (error instanceof DtlsFailure) return null
    throw error
  }
}

/** Returns the key of a P-256 certificate (DER). Throws DtlsFailure `bad_certificate` for anything else. */
function publicKeyOf(certificate: Buffer): KeyObject {
  let key: KeyObject
  try {
    key = new X509Certificate(certificate).publicKey
  } catch (error) {
    throw new DtlsFailure('bad_certificate', `the certificate cannot be read: ${String(error)}`)
  }
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new DtlsFailure('bad_certificate', 'the certificate has no P-256 key')
  return key
}

/** A value that the order of messages guarantees. */
function known<T>(value: T | null): T {
  if (value === null) throw new Error('a handshake message was taken out of order')
  return value
}
