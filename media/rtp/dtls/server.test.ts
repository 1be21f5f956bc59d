import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { seeded } from '../../../fixtures/host/random.js'
import {
  type ClientMessage,
  DtlsClient,
  fragment,
  type HelloFields,
} from '../../../fixtures/rtp/dtls-client.js'
import type { SrtpKeys, SrtpSuiteName } from '../srtp/keying.js'
import { uint } from './bytes.js'
import { createDtlsIdentity, fingerprintOf } from './identity.js'
import { HANDSHAKE, HandshakeReassembly } from './reassembly.js'
import { CONTENT, splitRecords, writeRecord } from './record.js'
import { DtlsServer } from './server.js'

const SERVER = createDtlsIdentity(0)
const STRANGER = createDtlsIdentity(0)
const ALERT = {
  unexpected: -110,
  handshake: -140,
  certificate: -142,
  parameter: -147,
  decode: -150,
  decrypt: -151,
  version: -170,
}
/** The server's first flight, and its second one. */
const FLIGHT = [2, 11, 12, 13, 14]
const LAST_FLIGHT = [-1, 20]
/** After a message that cannot be right, a client has this time to finish. */
const DOUBT_MS = 5_000

interface RigOptions {
  readonly client?: DtlsClient
  readonly suites?: readonly SrtpSuiteName[]
  readonly hash?: 'sha-256' | 'sha-384' | 'sha-512'
}

/** A server and a client in memory. `deliver` hands records to the server, each in a datagram of its own. */
function open({ client = new DtlsClient(), suites, hash = 'sha-256' }: RigOptions = {}) {
  const clock = new VirtualClock()
  const rig = {
    client,
    clock,
    keys: null as SrtpKeys | null,
    end: null as string | null,
    reason: '',
    /** Bytes to the address that sent last, and datagrams. */
    sentBytes: 0,
    sent: 0,
    datagrams: [] as Buffer[],
    server: null as unknown as DtlsServer,
    deliver(...records: readonly Uint8Array[]): void {
      for (const record of records) rig.server.receive(Buffer.from(record), 'client')
    },
    message(message: ClientMessage, epoch: 0 | 1 = 0): void {
      rig.deliver(...client.records(message, epoch))
    },
    /** Goes on until the server has sent its first flight. */
    greet(fields: HelloFields = {}): void {
      rig.message(client.hello(fields))
      rig.message(client.hello(fields))
    },
    /** Goes on up to CertificateVerify. */
    prove(): void {
      rig.greet()
      rig.message(client.certificate())
      rig.message(client.keyExchange())
      rig.message(client.verify())
      rig.deliver(client.changeCipherSpec())
    },
    connect(): void {
      rig.prove()
      rig.message(client.finished(), 1)
    },
  }
  rig.server = new DtlsServer({
    clock,
    identity: SERVER,
    fingerprints: [fingerprintOf(client.identity.certificate, hash)],
    ...(suites === undefined ? {} : { suites }),
    send: (datagram) => {
      rig.sent++
      rig.datagrams.push(Buffer.from(datagram))
      rig.sentBytes += datagram.length
      client.receive(datagram)
    },
    onKeys: (keys) => {
      if (rig.keys !== null) throw new Error('keys came twice')
      rig.keys = keys
    },
    onEnd: (end, reason) => {
      if (rig.end !== null) throw new Error('the end came twice')
      rig.end = end
      rig.reason = reason
    },
  })
  return rig
}

t.test('a handshake gives both sides the same keys, with each hash and suite', async (t) => {
  for (const [hash, suite, profiles] of [
    ['sha-256', 'AEAD_AES_128_GCM', [1, 8, 7]],
    ['sha-384', 'AEAD_AES_256_GCM', [1, 8]],
    ['sha-512', 'AES_CM_128_HMAC_SHA1_80', [2, 1]],
  ] as const) {
    const rig = open({ hash })
    rig.greet({ profiles })
    rig.message(rig.client.certificate())
    rig.message(rig.client.keyExchange())
    rig.message(rig.client.verify())
    t.equal(rig.keys, null, 'no keys before Finished')
    rig.message(rig.client.finished(), 1)
    t.same(rig.client.received, [HANDSHAKE.helloVerifyRequest, ...FLIGHT, ...LAST_FLIGHT])
    t.equal(rig.keys?.suite, suite)
    const half = (rig.keys?.receive.keyAndSalt.length ?? 0) + (rig.keys?.send.keyAndSalt.length ?? 0)
    t.same(rig.server.exportKeys('EXTRACTOR-dtls_srtp', half), rig.client.exportKeys(half))
    t.equal(rig.clock.pending, 0, 'no timer is left')
  }
})

t.test('the replies to a hello have its record number', async (t) => {
  const rig = open()
  const numbersOf = (records: readonly Buffer[]) =>
    records.flatMap((record) => splitRecords(record)).map(({ sequence }) => sequence)
  for (let hello = 0; hello < 2; hello++) {
    const fragments = rig.client.records(rig.client.hello(), 0, 40)
    t.ok(fragments.length > 1)
    rig.deliver(...fragments)
    t.equal(numbersOf(rig.datagrams.splice(0))[0], numbersOf(fragments).at(-1), 'of its last fragment')
  }
  t.same(rig.client.received, [HANDSHAKE.helloVerifyRequest, ...FLIGHT])
})

t.test('a hello with the highest record number is answered', async (t) => {
  const rig = open()
  for (const record of rig.client.records(rig.client.hello())) {
    record.writeUIntBE(2 ** 48 - 1, 5, 6)
    rig.deliver(record)
  }
  t.same(rig.client.received, [HANDSHAKE.helloVerifyRequest])
})

t.test('the certificate of a process verifies with its own key', async (t) => {
  const identity = createDtlsIdentity(Date.UTC(2045, 0, 1))
  const certificate = new X509Certificate(identity.certificate)
  t.ok(certificate.verify(certificate.publicKey))
  t.equal(certificate.validFrom, 'Dec 31 00:00:00 2044 GMT')
  t.match(certificate.validTo, /2054 GMT$/, 'a date past 2049 has the other format')
  t.equal(certificate.fingerprint256, identity.fingerprint.digest)
})

t.test('a hello that cannot be served gets an alert', async (t) => {
  const cases: readonly (readonly [string, HelloFields, number])[] = [
    ['DTLS 1.0', { version: 0xfeff }, ALERT.version],
    ['TLS 1.2', { version: 0x0303 }, ALERT.version],
    ['unknown suites', { suites: [0x1301, 0xc02c, 0xc009, 0x002f] }, ALERT.handshake],
    ['no suite', { suites: [] }, ALERT.decode],
    ['compression only', { compressions: Buffer.from([1]) }, ALERT.parameter],
    ['no extended master secret', { extendedMasterSecret: false }, ALERT.handshake],
    ['RSA signatures only', { signatures: [0x0401, 0x0804] }, ALERT.handshake],
    ['no P-256', { groups: [29, 24] }, ALERT.handshake],
    ['the short tag only', { profiles: [2] }, ALERT.handshake],
    ['a renegotiation', { renegotiation: Buffer.from('0c000102030405060708090a0b', 'hex') }, ALERT.handshake],
    ['a repeated extension', { repeated: true }, ALERT.parameter],
  ]
  for (const [name, fields, alert] of cases) {
    const rig = open()
    rig.greet(fields)
    t.equal(rig.client.received.at(-1), alert, name)
    t.not(rig.end, null, name)
    t.equal(rig.clock.pending, 0, name)
  }
})

t.test('an attacker on the path does not get keys', async (t) => {
  const prepared = () => {
    const rig = open()
    rig.greet()
    return rig
  }
  const cases: Readonly<Record<string, readonly [(rig: ReturnType<typeof open>) => void, number]>> = {
    'a certificate of his own': [
      ({ message, client }) => {
        message(client.certificate(STRANGER.certificate))
        message(client.keyExchange())
        message(client.verify({ signer: STRANGER }))
      },
      ALERT.certificate,
    ],
    'his own before the one of the SDP': [
      ({ message, client }) => {
        message(client.certificate(STRANGER.certificate, client.identity.certificate))
        message(client.keyExchange())
        message(client.verify({ signer: STRANGER }))
      },
      ALERT.certificate,
    ],
    'a certificate of his own, signed for by the client': [
      ({ message, client }) => {
        message(client.certificate(STRANGER.certificate))
        message(client.keyExchange())
        message(client.verify())
      },
      ALERT.decrypt,
    ],
    'no certificate': [({ message, client }) => message(client.noCertificate()), ALERT.handshake],
    'a copied certificate without its key': [
      ({ message, client }) => {
        message(client.certificate())
        message(client.keyExchange())
        message(client.verify({ signer: STRANGER }))
      },
      ALERT.decrypt,
    ],
    'another signature scheme': [
      ({ message, client }) => {
        message(client.certificate())
        message(client.keyExchange())
        message(client.verify({ scheme: 0x0804 }))
      },
      ALERT.parameter,
    ],
    'a signature left out': [
      ({ message, client }) => {
        message(client.certificate())
        message(client.keyExchange())
        message(client.finished(), 1)
      },
      ALERT.unexpected,
    ],
    'the certificate left out': [({ message, client }) => message(client.keyExchange()), ALERT.unexpected],
    'a key exchange that was replaced on its way': [
      ({ message, client }) => {
        message(client.certificate())
        const replaced = client.keyExchange()
        const stranger = generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'der' })
        message({ ...replaced, body: Buffer.concat([uint(32, 1), stranger.subarray(-32)]) })
        message(client.verify())
      },
      ALERT.decrypt,
    ],
    'a point that is none': [
      ({ message, client }) => {
        message(client.certificate())
        message(client.keyExchange(Buffer.alloc(32)))
      },
      ALERT.parameter,
    ],
    'a point of another length': [
      ({ message, client }) => {
        message(client.certificate())
        message(client.keyExchange(Buffer.alloc(65, 4)))
      },
      ALERT.parameter,
    ],
    'a wrong Finished': [
      (rig) => {
        rig.message(rig.client.certificate())
        rig.message(rig.client.keyExchange())
        rig.message(rig.client.verify())
        const { type, sequence, body } = rig.client.finished()
        body.writeUInt8(body.readUInt8(3) ^ 1, 3)
        rig.message({ type, sequence, body }, 1)
      },
      ALERT.decrypt,
    ],
    'a Finished without encryption': [
      (rig) => {
        rig.message(rig.client.certificate())
        rig.message(rig.client.keyExchange())
        rig.message(rig.client.verify())
        rig.message(rig.client.finished(), 0)
      },
      ALERT.unexpected,
    ],
  }
  for (const [name, [attack, alert]] of Object.entries(cases)) {
    const rig = prepared()
    attack(rig)
    rig.clock.advance(DOUBT_MS)
    t.equal(rig.client.received.at(-1), alert, name)
    t.equal(rig.keys, null, name)
    t.not(rig.end, null, name)
    t.throws(() => rig.server.exportKeys('EXTRACTOR-dtls_srtp', 56), name)
    const { sent } = rig
    rig.clock.advance(60_000)
    rig.deliver(...rig.client.records(rig.client.hello()))
    t.equal(rig.sent, sent, `${name}: the association stays silent`)
  }
})

t.test('a certificate that cannot be read is refused, although the SDP names it', async (t) => {
  const client = new DtlsClient({ ...createDtlsIdentity(0), certificate: Buffer.alloc(300, 0x30) })
  const rig = open({ client })
  rig.greet()
  rig.message(client.certificate())
  rig.clock.advance(DOUBT_MS)
  t.equal(client.received.at(-1), ALERT.certificate)
  t.equal(rig.end, 'bad_certificate')
})

t.test('fragments may be swapped, doubled, overlapping and in two flights', async (t) => {
  const rig = open()
  const { client } = rig
  // The ClientHello of a browser comes in two fragments.
  const hello = client.records(client.hello(), 0, 50)
  t.ok(hello.length >= 2)
  rig.deliver(...hello.reverse())
  const { type, sequence, body } = client.hello()
  const piece = (offset: number, end: number) =>
    client.record(
      CONTENT.handshake,
      fragment(type, sequence, body.length, offset, body.subarray(offset, end)),
    )
  rig.deliver(piece(60, 120), piece(0, 70), piece(60, 120), piece(100, body.length), piece(0, 0))
  const flight = [
    ...client.records(client.certificate(), 0, 90),
    ...client.records(client.keyExchange(), 0, 7),
    ...client.records(client.verify(), 0, 30),
  ]
  const finished = client.records(client.finished(), 1, 5)
  const lost = flight.splice(3, 1)
  rig.deliver(...flight.reverse(), ...flight, client.changeCipherSpec())
  t.equal(rig.keys, null)
  rig.deliver(...lost, ...finished.reverse(), ...finished)
  t.not(rig.keys, null)
  t.same(client.received.slice(-2), LAST_FLIGHT)
})

t.test('a fragment without encryption does not take the place of Finished', async (t) => {
  const rig = open()
  const { client } = rig
  rig.prove()
  const finished = client.finished()
  rig.deliver(
    client.record(
      CONTENT.handshake,
      fragment(HANDSHAKE.finished, finished.sequence, 4000, 0, Buffer.alloc(10)),
    ),
  )
  rig.deliver(...client.records(finished, 1, 5))
  t.not(rig.keys, null)

  // A whole one that comes too early.
  const other = open()
  other.greet()
  const early = fragment(HANDSHAKE.finished, finished.sequence, 12, 0, Buffer.alloc(12))
  other.deliver(other.client.record(CONTENT.handshake, early))
  for (const message of [other.client.certificate(), other.client.keyExchange()]) other.message(message)
  const verify = other.client.verify()
  const records = other.client.records(other.client.finished(), 1, 5)
  // The keys exist: the encrypted fragments wait for the signature.
  other.deliver(...records)
  other.message(verify)
  t.not(other.keys, null)
})

t.test('memory for fragments is bounded', async (t) => {
  const reassembly = new HandshakeReassembly()
  for (const [sequence, length] of [
    [0, 0xffffff],
    [0, 8193],
    [6, 100],
    [0xffff, 100],
  ] as const) {
    reassembly.add(fragment(1, sequence, length, 0, Buffer.alloc(100)), 0)
  }
  t.equal(reassembly.take(), null, 'too long, and too far ahead')
  reassembly.add(fragment(1, 0, 100, 50, Buffer.alloc(51)), 0)
  t.equal(reassembly.take(), null, 'a fragment reaches past its message')
  reassembly.add(fragment(1, 0, 100, 0, Buffer.alloc(100)), 0)
  t.equal(reassembly.take()?.body.length, 100)
})

t.test('an address gets no more bytes than it sent before it returns its cookie', async (t) => {
  const rig = open()
  const [hello] = rig.client.records(rig.client.hello())
  if (hello === undefined) throw new Error('no hello')
  rig.deliver(hello)
  t.equal(rig.sent, 1)
  let received = hello.length
  for (let i = 0; i < 1000; i++) {
    // The shortest hello that is answered: shorter than the reply.
    const body = Buffer.concat([uint(0xfefd, 2), Buffer.alloc(32, i), Buffer.alloc(2)])
    const short = rig.client.record(CONTENT.handshake, fragment(1, 0, body.length, 0, body))
    rig.deliver(short)
    received += short.length
    if (rig.sentBytes > received) t.fail(`${rig.sentBytes} bytes for ${received}`)
  }
  t.ok(rig.sent > 1)
  t.equal(rig.clock.pending, 1, 'only the deadline of the handshake')
  rig.clock.advance(60_000)
  t.equal(rig.end, 'timeout')
})

t.test('a client that sends from another address after its first hello needs no second cookie', async (t) => {
  const rig = open()
  rig.message(rig.client.hello())
  for (const record of rig.client.records(rig.client.hello())) rig.server.receive(record, 'elsewhere')
  // Chromium ends the handshake with unexpected_message after a second HelloVerifyRequest.
  t.same(rig.client.received, [HANDSHAKE.helloVerifyRequest, ...FLIGHT])
})

t.test('a flight is repeated to the address that asks for it', async (t) => {
  const sent: string[] = []
  const client = new DtlsClient()
  const server = new DtlsServer({
    clock: new VirtualClock(),
    identity: SERVER,
    fingerprints: [fingerprintOf(client.identity.certificate, 'sha-256')],
    send: (datagram, to) => {
      client.receive(datagram)
      sent.push(to)
    },
    onKeys: () => {},
    onEnd: () => {},
  })
  const take = (message: ClientMessage, from: string) => {
    for (const record of client.records(message)) server.receive(record, from)
  }
  take(client.hello(), 'first')
  const hello = client.hello()
  take(hello, 'first')
  const before = sent.length
  take(hello, 'second')
  t.same([...new Set(sent.slice(0, before))], ['first'])
  t.same([...new Set(sent.slice(before))], ['second'])
  server.close()
})

t.test('hellos without a cookie are answered, and change nothing', async (t) => {
  const rig = open()
  const { client } = rig
  for (let sequence = 0; sequence < 6; sequence++) rig.message({ ...new DtlsClient().hello(), sequence })
  t.same(client.received, new Array(6).fill(HANDSHAKE.helloVerifyRequest))
  t.equal(rig.end, null)
  rig.connect()
  t.not(rig.keys, null)
  t.equal(rig.end, null)
})

t.test('a cookie of another association proves nothing', async (t) => {
  const attacker = new DtlsClient()
  const own = open({ client: attacker })
  own.message(attacker.hello())
  const rig = open()
  for (const record of attacker.records(attacker.hello({ profiles: [] })))
    rig.server.receive(record, 'client')
  t.equal(rig.end, null)
  rig.connect()
  t.not(rig.keys, null)
})

t.test('forged fragments of changing kinds allocate one space for each message', async (t) => {
  const reassembly = new HandshakeReassembly()
  const alloc = Buffer.alloc
  let allocated = 0
  Buffer.alloc = ((size: number, ...more: []) => {
    allocated += size
    return alloc(size, ...more)
  }) as typeof alloc
  t.teardown(() => {
    Buffer.alloc = alloc
  })
  const forged = Array.from({ length: 1_000 }, (_, i) => {
    const header = Buffer.concat([
      uint(11 + (i % 2), 1),
      uint(1 + (i % 8_192), 3),
      uint(0, 2),
      uint(0, 3),
      uint(1, 3),
    ])
    return Buffer.concat([header, uint(0, 1)])
  })
  allocated = 0
  for (const fragment of forged) reassembly.add(fragment, 0)
  t.ok(allocated > 0 && allocated <= 16_384, `${allocated} bytes`)
})

/** Messages that a third party can send under the client's address without seeing the server's. */
const FORGERIES: Readonly<Record<string, () => readonly (readonly [type: number, body: Buffer])[]>> = {
  'messages without content': () => [2, 11, 16, 15, 20].map((type) => [type, Buffer.alloc(0)] as const),
  'messages of zeros': () => [1, 11, 16, 15, 20].map((type) => [type, Buffer.alloc(80)] as const),
  'a certificate of its own': () => {
    const { certificate } = STRANGER
    return [[11, Buffer.concat([uint(certificate.length + 3, 3), uint(certificate.length, 3), certificate])]]
  },
  'a key exchange': () => {
    const point = generateKeyPairSync('x25519')
      .publicKey.export({ type: 'spki', format: 'der' })
      .subarray(-32)
    return [[16, Buffer.concat([uint(32, 1), point])]]
  },
  'a hello': () => [[1, new DtlsClient().hello().body]],
}

for (const [name, make] of Object.entries(FORGERIES)) {
  t.test(`forged ${name}, with each number and before each message, do not end the handshake`, async (t) => {
    for (let before = 0; before <= 6; before++) {
      for (let sequence = 0; sequence < 6; sequence++) {
        const rig = open()
        const { client } = rig
        const forge = () => {
          for (const [type, body] of make()) {
            // Whole, and as a fragment that keeps the place of a message.
            const whole = fragment(type, sequence, body.length, 0, body)
            const part = fragment(type, sequence, body.length + 9, 2, body.subarray(0, 4))
            for (const content of [whole, part]) {
              rig.deliver(writeRecord(CONTENT.handshake, 0, 1000, content, null))
            }
          }
        }
        let sent = 0
        const say = (message: ClientMessage, epoch: 0 | 1 = 0) => {
          if (sent++ === before) forge()
          rig.message(message, epoch)
        }
        for (let hello = 0; hello < 2; hello++) say(client.hello())
        const flight = [client.certificate(), client.keyExchange(), client.verify()]
        const finished = client.finished()
        for (const message of flight) say(message)
        say(finished, 1)
        // The client repeats its flight as long as it has no answer.
        for (let tries = 0; tries < 2 && rig.keys === null; tries++) {
          for (const message of flight) say(message)
          say(finished, 1)
        }
        const what = `number ${sequence} before message ${before}`
        t.equal(rig.end, null, what)
        t.not(rig.keys, null, what)
        rig.clock.advance(60_000)
        t.equal(rig.end, null, what)
        t.equal(rig.clock.pending, 0, what)
      }
    }
  })
}

t.test('the number of bad messages is bounded', async (t) => {
  const rig = open()
  rig.greet()
  const junk = fragment(HANDSHAKE.certificate, 2, 3, 0, Buffer.alloc(3))
  for (let i = 0; i < 200; i++) rig.deliver(rig.client.record(CONTENT.handshake, junk))
  t.equal(rig.end, null)
  rig.deliver(rig.client.record(CONTENT.handshake, junk))
  t.equal(rig.end, 'handshake_failure')
  t.equal(rig.clock.pending, 0)
})

t.test('flights are repeated by timer and on demand, but not for ever', async (t) => {
  const rig = open()
  rig.greet()
  const first = rig.client.received.length
  rig.clock.advance(399)
  t.equal(rig.client.received.length, first)
  rig.clock.advance(1)
  t.same(rig.client.received.slice(first), FLIGHT)
  rig.clock.advance(800 + 1600)
  t.equal(rig.client.received.length, first + 3 * FLIGHT.length)
  rig.clock.advance(60_000)
  t.equal(rig.end, 'timeout')
  t.equal(rig.clock.pending, 0)
  t.ok(rig.sent <= 10)
})

t.test('the last flight is repeated when the client repeats its Finished', async (t) => {
  const rig = open()
  const { client } = rig
  rig.prove()
  const finished = client.finished()
  const [record] = client.records(finished, 1)
  rig.deliver(record as Buffer)
  const { sent } = rig
  rig.deliver(record as Buffer)
  t.equal(rig.sent, sent, 'the same record again is a replay')
  for (let i = 0; i < 100; i++) rig.message(finished, 1)
  t.equal(rig.sent, sent + 7)
  t.same(client.received.slice(-2), LAST_FLIGHT)
})

t.test('an alert without encryption does not end the handshake', async (t) => {
  const forged = (rig: ReturnType<typeof open>) => {
    for (const alert of [
      [2, 40],
      [1, 0],
      [1, 90],
    ])
      rig.deliver(rig.client.record(CONTENT.alert, Buffer.from(alert)))
  }
  const rig = open()
  forged(rig)
  t.equal(rig.end, null)
  rig.connect()
  t.equal(rig.server.dropped, 3)
  t.equal(rig.end, null)

  const late = open()
  forged(late)
  late.clock.advance(30_000)
  t.equal(late.end, 'timeout')
  t.match(late.reason, 'the client sent alert 90')
})

t.test('a connected association takes nothing that is not encrypted', async (t) => {
  const rig = open()
  const { client } = rig
  rig.connect()
  const { sent } = rig
  const fatal = Buffer.from([2, 40])
  const close = Buffer.from([1, 0])
  rig.deliver(
    client.record(CONTENT.alert, fatal),
    client.record(CONTENT.alert, close),
    client.changeCipherSpec(),
  )
  rig.deliver(...client.records({ ...new DtlsClient().hello(), sequence: 0 }))
  rig.deliver(...client.records({ ...new DtlsClient().hello(), sequence: 6 }))
  const forged = client.record(CONTENT.alert, close, 1)
  forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1)
  rig.deliver(forged)
  t.equal(rig.server.dropped, 6)
  // A renegotiation is encrypted, and ignored all the same.
  rig.message(client.hello(), 1)
  rig.deliver(client.record(CONTENT.applicationData, Buffer.from('hello'), 1))
  t.equal(rig.sent, sent)
  t.equal(rig.end, null)
  rig.deliver(client.record(CONTENT.alert, close, 1))
  t.equal(rig.end, 'closed')
})

t.test('close says goodbye under the keys, once', async (t) => {
  const rig = open()
  rig.connect()
  rig.server.close()
  rig.server.close()
  t.equal(rig.client.received.at(-1), -100)
  t.equal(rig.end, 'closed')
})

t.test('seeded noise: no exception, no keys without proof, no timer left', async (t) => {
  const random = seeded(21)
  const whole = (below: number) => Math.floor(random.next() * below)
  let connected = 0
  for (let round = 0; round < 200; round++) {
    const rig = open()
    const { client } = rig
    /** Damages one record in four: bytes, lengths, or the whole order. */
    const damage = (record: Buffer): Buffer[] => {
      const kind = whole(24)
      if (kind > 5) return [record]
      const copy = Buffer.from(record)
      if (kind === 0) return []
      if (kind === 1) return [record, record]
      if (kind === 2) copy.writeUInt8(whole(256), whole(copy.length))
      if (kind === 3) copy.writeUInt16BE(whole(0x10000), whole(copy.length - 1))
      if (kind === 4) return [copy.subarray(0, whole(copy.length))]
      return kind === 5 ? [Buffer.concat([uint(whole(256), 1), copy]), record] : [copy]
    }
    const say = (message: ClientMessage, epoch: 0 | 1 = 0) => {
      for (const record of client.records(message, epoch, 40 + whole(400))) rig.deliver(...damage(record))
    }
    say(client.hello())
    say(client.hello())
    // A client that got no answer cannot go on.
    if (client.received.includes(HANDSHAKE.serverHelloDone)) {
      say(client.certificate())
      say(client.keyExchange())
      say(client.verify())
      say(client.finished(), 1)
    }
    if (rig.keys !== null) {
      connected++
      const bytes = rig.keys.receive.keyAndSalt.length * 2
      t.same(rig.server.exportKeys('EXTRACTOR-dtls_srtp', bytes), client.exportKeys(bytes)) ||
        t.bailout(`round ${round}`)
    }
    rig.clock.advance(60_000)
    rig.server.close()
    t.equal(rig.clock.pending, 0) || t.bailout(`round ${round}`)
  }
  t.ok(connected > 20 && connected < 180, `${connected} of 200 rounds connected`)
})
