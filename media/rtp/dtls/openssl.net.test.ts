import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../../fixtures/host/until.js'
import { systemClock } from '../../base/clock.js'
import type { SrtpKeys, SrtpSuiteName } from '../srtp/keying.js'
import { createDtlsIdentity, fingerprintOf } from './identity.js'
import { handshakeBytes } from './reassembly.js'
import { CONTENT, writeRecord } from './record.js'
import { DtlsServer } from './server.js'

/*
 * The DTLS server against OpenSSL's client: both must export the same keys.
 */

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed'
/** Bytes of keying material of each suite: two keys and two salts. */
const EXPORTED: Partial<Record<SrtpSuiteName, number>> = { AES_CM_128_HMAC_SHA1_80: 60, AEAD_AES_128_GCM: 56 }
const SERVER = createDtlsIdentity(Date.now())

interface Outcome {
  readonly keys: SrtpKeys | null
  /** How the server ended meanwhile. */
  readonly end: string | null
  /** Makes the client say goodbye. */
  readonly quit: () => void
  /** Resolves with the end of the server. */
  readonly ended: () => Promise<string | null>
  /** The whole output of `openssl s_client`. */
  readonly output: string
}

/** Returns how often the datagram with this number arrives, in each direction. */
type Network = (number: number, direction: 'in' | 'out') => number

/** Lets `openssl s_client` connect, until both sides have keys or the server has given up. */
async function connect(
  t: Test,
  options: readonly string[],
  network: Network = () => 1,
  client = createDtlsIdentity(Date.now()),
  forged: (number: number) => readonly Buffer[] = () => [],
): Promise<Outcome> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  let keys: SrtpKeys | null = null
  let end: string | null = null
  const counts = { in: 0, out: 0 }
  const server = new DtlsServer({
    clock: systemClock,
    identity: SERVER,
    fingerprints: [fingerprintOf(client.certificate, 'sha-256')],
    send: (datagram, to) => {
      const copies = network(counts.out++, 'out')
      for (let i = 0; i < copies; i++) socket.send(datagram, Number(to), '127.0.0.1')
    },
    onKeys: (made) => {
      keys = made
    },
    onEnd: (why, reason) => {
      end = `${why}: ${reason}`
    },
  })
  socket.on('message', (data, { port }) => {
    for (const datagram of forged(counts.in)) server.receive(datagram, String(port))
    const copies = network(counts.in++, 'in')
    for (let i = 0; i < copies; i++) server.receive(data, String(port))
  })
  const folder = t.testdir()
  const pem = client.certificate.toString('base64')
  const certificate = join(folder, 'certificate.pem')
  writeFileSync(certificate, `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`)
  const key = join(folder, 'key.pem')
  writeFileSync(key, client.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const child = spawn('openssl', [
    ...['s_client', '-dtls1_2', '-connect', `127.0.0.1:${socket.address().port}`],
    ...['-cert', certificate, '-key', key, '-keymatexport', 'EXTRACTOR-dtls_srtp', ...options],
  ])
  t.teardown(() => {
    child.kill('SIGKILL')
    server.close()
    socket.close()
  })
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  child.stderr.on('data', (data) => {
    output += data
  })
  const exited = once(child, 'exit')
  await until(() => end !== null || (keys !== null && output.includes('Keying material:')))
  if (end !== null) await exited
  return {
    keys,
    output,
    end,
    quit: () => child.stdin.end('Q\n'),
    ended: () => until(() => end !== null).then(() => end),
  }
}

function keyingMaterial({ send, receive, suite }: SrtpKeys): string {
  const keyBytes = 16
  const [client, server] = [Buffer.from(receive.keyAndSalt), Buffer.from(send.keyAndSalt)]
  const parts = [
    client.subarray(0, keyBytes),
    server.subarray(0, keyBytes),
    client.subarray(keyBytes),
    server.subarray(keyBytes),
  ]
  const material = Buffer.concat(parts)
  if (material.length !== EXPORTED[suite]) throw new Error(`${suite} with ${material.length} bytes`)
  return material.toString('hex').toUpperCase()
}

const SUITES = [
  {
    profile: 'SRTP_AEAD_AES_128_GCM',
    suite: 'AEAD_AES_128_GCM',
    groups: 'X25519:P-256',
    key: /Temp Key: X25519/,
  },
  {
    profile: 'SRTP_AES128_CM_SHA1_80',
    suite: 'AES_CM_128_HMAC_SHA1_80',
    groups: 'P-256',
    key: /Temp Key: ECDH, prime256v1/,
  },
] as const

for (const { profile, suite, groups, key } of SUITES) {
  t.test(`${suite} with ${groups}`, { skip }, async (t) => {
    const length = String(EXPORTED[suite])
    const options = ['-use_srtp', profile, '-groups', groups, '-keymatexportlen', length]
    const { keys, end, output, quit, ended } = await connect(t, options)
    if (keys === null) throw new Error(`no keys (${end}):\n${output}`)
    t.equal(keys.suite, suite)
    t.match(output, `Keying material: ${keyingMaterial(keys)}`)
    t.match(output, key)
    t.match(output, /Extended master secret: yes/)
    t.match(output, /Secure Renegotiation IS supported/)
    t.match(output, /Cipher is ECDHE-ECDSA-AES128-GCM-SHA256/)
    quit()
    t.equal(await ended(), 'closed: closed by the client')
  })
}

t.test('fragments of 200 bytes, doubled datagrams, and a lost one in each flight', { skip }, async (t) => {
  const options = ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-keymatexportlen', '56', '-mtu', '256']
  let lost = 0
  const { keys, end, output } = await connect(t, options, (number, direction) => {
    const lose = direction === 'in' ? number === 0 || number === 6 : number === 1
    if (lose) lost++
    return lose ? 0 : 2
  })
  if (keys === null) throw new Error(`no keys (${end}):\n${output}`)
  t.equal(lost, 3)
  t.match(output, `Keying material: ${keyingMaterial(keys)}`)
})

t.test('OpenSSL connects beside forged alerts and messages of its own address', { skip }, async (t) => {
  const options = ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-keymatexportlen', '56', '-mtu', '256']
  const contents = [11, 16, 15, 20].flatMap((type) =>
    [1, 2, 3, 4, 5].map((sequence) => handshakeBytes(type, sequence, Buffer.alloc(40, type))),
  )
  const datagrams = [
    ...contents.map((content) => writeRecord(CONTENT.handshake, 0, 99, content, null)),
    writeRecord(CONTENT.alert, 0, 99, Buffer.from([2, 40]), null),
    Buffer.from('16fefd0000', 'hex'),
  ]
  let sent = 0
  // Before the first datagrams of the client, also in the middle of its second flight.
  const forged = (number: number) => {
    if (number > 6) return []
    sent += datagrams.length
    return datagrams
  }
  const client = createDtlsIdentity(Date.now())
  const { keys, end, output, quit, ended } = await connect(t, options, () => 1, client, forged)
  if (keys === null) throw new Error(`no keys (${end}):\n${output}`)
  t.equal(sent, 7 * datagrams.length)
  t.match(output, `Keying material: ${keyingMaterial(keys)}`)
  quit()
  t.equal(await ended(), 'closed: closed by the client')
})

t.test('OpenSSL gets the alert that tells what it lacks', { skip }, async (t) => {
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['no SRTP', [], /^handshake_failure: no SRTP profile/],
    [
      'another suite',
      ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-cipher', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
      /^handshake_failure: .*GCM-SHA256/,
    ],
    ['no P-256', ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-groups', 'X25519'], /^handshake_failure: .*P-256/],
  ]
  for (const [name, options, expected] of cases) {
    const { keys, end, output } = await connect(t, options)
    t.equal(keys, null, name)
    t.match(end, expected, name)
    t.match(output, /alert handshake failure/, name)
  }
})
