import { createHmac, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { CounterTransform } from './aes-counter-mode.js'
import { GcmTransform } from './aes-gcm.js'
import { HmacSha1 } from './hmac-sha1.js'
import { derive, deriveKeys, SRTP_SUITES } from './key-derivation.js'
import { MAX_SRTP_OVERHEAD, type SrtpTransform } from './transform.js'

/* Test vectors of RFC 3711 appendix B, of libsrtp under the same key, and of RFC 7714. */

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex')
const NONE = new Uint8Array(0)

/** A packet with room for the authentication tag. */
function roomy(bytes: Uint8Array): Buffer {
  const buffer = Buffer.alloc(bytes.length + MAX_SRTP_OVERHEAD)
  buffer.set(bytes)
  return buffer
}

t.test('RFC 3711 B.2: the AES counter mode key stream', async (t) => {
  const key = hex('2B7E151628AED2A6ABF7158809CF4F3C')
  const salt = hex('F0F1F2F3F4F5F6F7F8F9FAFBFCFD')
  const keys = { encryption: key, authentication: Buffer.alloc(20), salt }
  const transform = new CounterTransform(SRTP_SUITES.AES_CM_128_HMAC_SHA1_80, keys, keys, NONE)
  // SSRC, roll-over counter and sequence number are zero in this vector.
  const header = hex('800000000000000000000000')
  const bytes = 0xff02 * 16
  const packet = roomy(Buffer.concat([header, Buffer.alloc(bytes)]))
  transform.sealRtp(packet, 12, 12 + bytes, 0, { rollOver: 0, sequence: 0 })
  const stream = (block: number) =>
    packet
      .subarray(12 + block * 16, 28 + block * 16)
      .toString('hex')
      .toUpperCase()
  t.equal(stream(0), 'E03EAD0935C95E80E166B16DD92B4EB4')
  t.equal(stream(1), 'D23513162B02D0F72A43A2FE4A5F97AB')
  t.equal(stream(2), '41E95B3BB0A2E8DD477901E4FCA894C0')
  t.equal(stream(0xfeff), 'EC8CDF7398607CB0F2D21675EA9EA1E4')
  t.equal(stream(0xff00), '362B7C3C6773516318A077D7FC5073AE')
  t.equal(stream(0xff01), '6A2CC3787889374FBEB4C81B17BA6C44')
})

const MASTER = hex('E1F97A0D3E018BE0D64FA32C06DE4139')
const MASTER_SALT = hex('0EC675AD498AFEEBB6960B3AABE6')

t.test('RFC 3711 B.3: key derivation', async (t) => {
  const label = (n: number, bytes: number) =>
    derive(MASTER, MASTER_SALT, n, bytes).toString('hex').toUpperCase()
  t.equal(label(0, 16), 'C61E7A93744F39EE10734AFE3FF7A087')
  t.equal(label(2, 14), '30CBBC08863D8C85D49DB34A9AE1')
  t.equal(
    label(1, 94),
    'CEBE321F6FF7716B6FD4AB49AF256A156D38BAA48F0A0ACF3C34E2359E6CDBCE' +
      'E049646C43D9327AD175578EF72270986371C10C9A369AC2F94A8C5FBCDDDC25' +
      '6D6E919A48B610EF17C2041E474035766B68642C59BBFC2F34DB60DBDFB2',
  )
})

t.test('packets of libsrtp under that key', async (t) => {
  const suite = SRTP_SUITES.AES_CM_128_HMAC_SHA1_80
  const keyAndSalt = Buffer.concat([MASTER, MASTER_SALT])
  const transform = new CounterTransform(
    suite,
    deriveKeys(suite, keyAndSalt, 'rtp'),
    deriveKeys(suite, keyAndSalt, 'rtcp'),
    NONE,
  )
  const rtp = hex('800f1234decafbadcafebabe abababab abababab abababab abababab')
  const srtp = hex('800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb')
  rtpBothWays(t, transform, rtp, srtp, 0xcafebabe, 0x1234)
  const rtcp = hex('81c8000bcafebabeabababababababababababababababab')
  const srtcp = hex('81c8000bcafebabe7128035be487b9bdbef89041f977a5a880000001993e08cd54d6c1230798')
  rtcpBothWays(t, transform, rtcp, srtcp, 0xcafebabe, 1)
})

const RTP = hex(
  '8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573',
)
const RTCP = hex(
  '81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef',
)
const SALT = hex('517569642070726f2071756f')
const KEY = hex('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f')

function gcm(bytes: 16 | 32): GcmTransform {
  const keys = { encryption: KEY.subarray(0, bytes), authentication: Buffer.alloc(0), salt: SALT }
  return new GcmTransform(bytes === 16 ? 'aes-128-gcm' : 'aes-256-gcm', keys, keys, NONE)
}

t.test('RFC 7714 sections 16 and 17: AES-GCM with 128 bits', async (t) => {
  rtpBothWays(
    t,
    gcm(16),
    RTP,
    hex(
      '8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b' +
        '36de3adf8833899d7f27beb16a9152cf765ee4390cce',
    ),
    0x5501a0b2,
    0xf17b,
  )
  rtcpBothWays(
    t,
    gcm(16),
    RTCP,
    hex(
      '81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded' +
        '0bb9275bc84aa45896cf4d2fc5abf87245d9eade800005d4',
    ),
    0x4d617273,
    0x5d4,
  )
  const tagged = hex(
    '81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef' +
      '841dd9683dd78ec92ae58790125f62b3000005d4',
  )
  t.equal(gcm(16).openRtcp(tagged, tagged.length, 0x4d617273), RTCP.length, 'only authenticated')
  t.same(tagged.subarray(0, RTCP.length), RTCP)
  tagged[20] = (tagged[20] as number) ^ 1
  t.equal(gcm(16).openRtcp(tagged, tagged.length, 0x4d617273), -1)
})

t.test('RFC 7714 sections 16 and 17: AES-GCM with 256 bits', async (t) => {
  rtpBothWays(
    t,
    gcm(32),
    RTP,
    hex(
      '8040f17b8041f8d35501a0b232b1de78a822fe12ef9f78fa332e33aab18012389a58e2f3b50b2a0276ffae0f' +
        '1ba63799b87b7aa3db36dfffd6b0f9bb7878d7a76c13',
    ),
    0x5501a0b2,
    0xf17b,
  )
  rtcpBothWays(
    t,
    gcm(32),
    RTCP,
    hex(
      '81c8000d4d617273d50ae4d1f5ce5d304ba297e47d470c282c3ece5dbffe0a50a2eaa5c1110555be8415f658c61de047' +
        '6f1b6fad1d1eb30c4446839f57ff6f6cb26ac3be800005d4',
    ),
    0x4d617273,
    0x5d4,
  )
})

t.test('the HMAC equals that of node:crypto at every length', async (t) => {
  for (let length = 0; length < 200; length++) {
    const key = randomBytes(20)
    const data = randomBytes(length)
    const into = new Uint8Array(20)
    new HmacSha1(key).digest(data, length, null, into)
    t.same(Buffer.from(into), createHmac('sha1', key).update(data).digest())
    new HmacSha1(key).digest(data, length, 0x81020304, into)
    t.same(Buffer.from(into), createHmac('sha1', key).update(data).update(hex('81020304')).digest())
  }
})

function rtpBothWays(
  t: Test,
  transform: SrtpTransform,
  plain: Buffer,
  sealed: Buffer,
  ssrc: number,
  sequence: number,
): void {
  const packet = roomy(plain)
  const length = transform.sealRtp(packet, 12, plain.length, ssrc, { rollOver: 0, sequence })
  t.equal(packet.toString('hex', 0, length), sealed.toString('hex'))
  for (let at = 0; at < sealed.length; at++) {
    const forged = Buffer.from(sealed)
    forged[at] = (forged[at] as number) ^ 0x10
    const before = Buffer.from(forged)
    t.equal(transform.openRtp(forged, 12, forged.length, ssrc, { rollOver: 0, sequence }), -1)
    t.ok(forged.equals(before), 'a forged packet is left alone')
  }
  t.equal(transform.openRtp(Buffer.from(sealed), 12, sealed.length, ssrc, { rollOver: 1, sequence }), -1)
  t.equal(transform.openRtp(packet, 12, length, ssrc, { rollOver: 0, sequence }), plain.length)
  t.ok(packet.subarray(0, plain.length).equals(plain))
}

function rtcpBothWays(
  t: Test,
  transform: SrtpTransform,
  plain: Buffer,
  sealed: Buffer,
  ssrc: number,
  index: number,
): void {
  const packet = roomy(plain)
  const length = transform.sealRtcp(packet, plain.length, ssrc, index)
  t.equal(packet.toString('hex', 0, length), sealed.toString('hex'))
  t.equal(transform.rtcpIndex(packet, length), index)
  for (let at = 0; at < sealed.length; at++) {
    const forged = Buffer.from(sealed)
    forged[at] = (forged[at] as number) ^ 0x80
    t.equal(transform.openRtcp(forged, forged.length, ssrc), -1)
  }
  t.equal(transform.openRtcp(packet, length, ssrc), plain.length)
  t.ok(packet.subarray(0, plain.length).equals(plain))
}
