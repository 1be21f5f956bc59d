import t from 'tap'
import { SourceLatch } from './source-latch.js'

const HOME = '192.0.2.7'
const ELSEWHERE = '198.51.100.9'
const STRANGER = '203.0.113.1'

type Verdict = ReturnType<SourceLatch['accept']>

/** A latch of an unencrypted stream. Packets without a sequence number continue those of the address. */
function openLatch() {
  const source = new SourceLatch()
  source.setSdpAddress(HOME, 4000)
  const sequences = new Map<string, number>()
  const packet = (address: string, port: number, ssrc: number, atMs: number, sequence?: number): Verdict => {
    const key = `${address}:${port}`
    const next = sequence ?? ((sequences.get(key) ?? 65_530) + 1) & 0xffff
    sequences.set(key, next)
    return source.accept(address, port, ssrc, next, atMs)
  }
  /** Sends packets, one each 20 ms. Returns the verdicts. */
  const packets = (address: string, port: number, ssrc: number, fromMs: number, count: number) =>
    Array.from({ length: count }, (_, i) => packet(address, port, ssrc, fromMs + 20 * i))
  return { source, packet, packets }
}

/** The SDP's address has sent for four seconds, the last packet at 4000 ms. */
function latched() {
  const latch = openLatch()
  latch.packets(HOME, 4000, 1, 0, 201)
  return latch
}

const refused = (count: number): Verdict[] => new Array(count).fill('refused')

t.test('packets go to the SDP address, then to the port of its host that sends', async (t) => {
  const { source, packet } = openLatch()
  t.match(source, { address: HOME, port: 4000, latches: 0 })
  t.equal(packet(HOME, 5000, 1, 0), 'new')
  t.equal(packet(HOME, 5000, 1, 20), 'same')
  t.match(source, { address: HOME, port: 5000, latches: 1 })
})

t.test('a source elsewhere is heard at once, and gets packets after ten in sequence', async (t) => {
  const { source, packets, packet } = openLatch()
  t.strictSame(packets(ELSEWHERE, 5000, 1, 0, 9), ['new', ...new Array(8).fill('same')])
  t.match(source, { address: HOME, port: 4000, latches: 0 })
  t.equal(packet(ELSEWHERE, 5000, 1, 180), 'same')
  t.match(source, { address: ELSEWHERE, port: 5000, latches: 1 })
})

t.test('one early packet of a stranger does not keep the peer out', async (t) => {
  for (const laterMs of [10, 2000, 60_000]) {
    const { source, packet, packets } = openLatch()
    t.equal(packet(STRANGER, 666, 9, 0), 'new')
    t.match(source, { address: HOME, port: 4000 }, 'and gets nothing')
    t.equal(packet(HOME, 6000, 1, laterMs), 'new', 'the host of the SDP, behind a NAT')
    t.match(source, { address: HOME, port: 6000, latches: 1 })
    t.strictSame(packets(STRANGER, 666, 9, laterMs + 20, 20), refused(20))
  }
})

t.test('a stranger that sends from the beginning on loses the stream to the host of the SDP', async (t) => {
  const { source, packets } = openLatch()
  packets(STRANGER, 666, 9, 0, 500)
  t.match(source, { address: STRANGER, port: 666 })
  let verdicts: Verdict[] = []
  for (let at = 10_000; at < 10_300; at += 20) {
    packets(STRANGER, 666, 9, at, 1)
    verdicts = [...verdicts, ...packets(HOME, 6000, 1, at + 10, 1)]
  }
  t.strictSame(verdicts.slice(0, 10), [...refused(9), 'new'], 'behind a NAT, after ten packets')
  t.match(source, { address: HOME, port: 6000 })
  t.strictSame(packets(STRANGER, 666, 9, 10_300, 20), refused(20))
})

t.test('a peer elsewhere replaces a stranger that was heard first', async (t) => {
  const silent = openLatch()
  silent.packet(STRANGER, 666, 9, 0)
  t.equal(silent.packet(ELSEWHERE, 5000, 1, 20), 'refused')
  t.equal(silent.packet(ELSEWHERE, 5000, 1, 100), 'new', 'that is silent')
  const broken = openLatch()
  const verdicts: Verdict[] = []
  for (let i = 0; i < 12; i++) {
    broken.packet(STRANGER, 666, 9, 20 * i, 1000 + 7 * i)
    verdicts.push(broken.packet(ELSEWHERE, 5000, 1, 20 * i + 10))
  }
  t.strictSame(verdicts, [...refused(9), 'new', 'same', 'same'], 'that sends no stream')
  t.match(broken.source, { address: ELSEWHERE, port: 5000 })
})

t.test('for a second a source closer to the SDP replaces the first one with a single packet', async (t) => {
  const { source, packet } = openLatch()
  t.equal(packet(ELSEWHERE, 5000, 1, 0), 'new')
  t.equal(packet(STRANGER, 5000, 2, 10), 'refused', 'a stranger is no better than another')
  t.equal(packet(HOME, 4002, 3, 20), 'new', 'the same machine')
  t.equal(packet(HOME, 4000, 4, 40), 'new', 'the very port')
  t.equal(packet(HOME, 4002, 3, 60), 'refused')
  t.equal(packet(ELSEWHERE, 5000, 1, 60), 'refused')
  t.match(source, { port: 4000, latches: 2, unknownSources: 3 })
})

t.test('telephone events may have an SSRC of their own', async (t) => {
  const { source, packet } = latched()
  t.equal(source.accept(HOME, 4000, 7, 1, 4010, true), 'beside')
  t.equal(packet(HOME, 4000, 1, 4020), 'same', 'the audio goes on')
  t.equal(source.accept(ELSEWHERE, 4000, 7, 2, 4030, true), 'refused')
  t.equal(source.accept(HOME, 4000, 7, 2, 8000, true), 'beside', 'also in silence')
  t.equal(packet(HOME, 4000, 1, 8020), 'same')

  const early = openLatch()
  t.equal(early.source.accept(HOME, 4000, 7, 1, 0, true), 'new', 'before the first audio')
  t.equal(early.packet(HOME, 4000, 1, 20), 'new', 'which needs no pause')
  t.equal(early.source.accept(HOME, 4000, 7, 2, 30, true), 'beside')
  t.equal(early.packet(HOME, 4000, 2, 40), 'refused', 'another SSRC beside the audio')
})

t.test('the SDP address replaces a source that is alive at any time, with a single packet', async (t) => {
  const { source, packet, packets } = openLatch()
  packets(ELSEWHERE, 5000, 1, 0, 101)
  t.equal(packet(HOME, 4000, 2, 2010), 'new')
  t.match(source, { address: HOME, port: 4000 })
  t.strictSame(packets(ELSEWHERE, 5000, 1, 2020, 20), refused(20))
})

t.test('a stranger never takes over, however long the stream is silent', async (t) => {
  const { source, packets } = latched()
  t.strictSame(packets(ELSEWHERE, 4000, 2, 4020, 20), refused(20), 'in a short pause')
  t.strictSame(packets(ELSEWHERE, 4000, 2, 14_000, 500), refused(500), 'in a long one')
  t.match(source, { address: HOME, port: 4000, latches: 1, unknownSources: 520 })
  t.equal(packets(HOME, 4000, 1, 30_000, 1)[0], 'same')
})

t.test('another port of the same host takes over after a second of silence and ten packets', async (t) => {
  const { source, packet, packets } = latched()
  t.strictSame(packets(HOME, 6000, 2, 4020, 48), refused(48), 'less than a second')
  t.equal(packet(HOME, 6000, 2, 4999), 'refused')
  t.equal(packet(HOME, 6000, 2, 5000), 'new')
  t.match(source, { address: HOME, port: 6000, latches: 2 })
  t.equal(packet(HOME, 4000, 1, 5020), 'new', 'the first one returns at once')
  t.equal(packet(HOME, 6000, 2, 5040), 'refused', 'and keeps the stream')
  t.equal(source.latches, 3)
})

t.test('the SSRC of the stream from another address takes over after ten packets (a NAT)', async (t) => {
  for (const [address, port] of [
    [HOME, 6000],
    [ELSEWHERE, 4000],
  ] as const) {
    const { source, packets } = latched()
    t.strictSame(packets(address, port, 1, 4020, 11), [...refused(9), 'same', 'same'], 'the stream goes on')
    t.match(source, { address, port, latches: 2 })
  }
})

t.test('a copy of the SSRC is refused while the stream is alive', async (t) => {
  const { packet } = latched()
  for (let at = 4020; at < 6000; at += 20) {
    t.equal(packet(HOME, 4000, 1, at), 'same')
    t.equal(packet(ELSEWHERE, 5000, 1, at + 10), 'refused')
  }
})

t.test('a gap, another SSRC or another source starts the proof again', async (t) => {
  const interruptions: readonly [
    what: string,
    address: string,
    port: number,
    ssrc: number,
    sequence: number,
  ][] = [
    ['a gap', HOME, 6000, 2, 11],
    ['a repeated packet', HOME, 6000, 2, 8],
    ['another SSRC', HOME, 6000, 3, 9],
    ['another port', HOME, 6002, 2, 9],
  ]
  for (const [what, address, port, ssrc, sequence] of interruptions) {
    const { packet } = latched()
    for (let i = 0; i < 9; i++) t.equal(packet(HOME, 6000, 2, 8000 + 20 * i, i), 'refused')
    t.equal(packet(address, port, ssrc, 8180, sequence), 'refused', what)
    for (let i = 0; i < 9; i++) t.equal(packet(HOME, 6000, 2, 8200 + 20 * i, 100 + i), 'refused', what)
    t.equal(packet(HOME, 6000, 2, 8380, 109), 'new', what)
  }
})

t.test('a new SSRC at the same address needs a pause of 100 ms', async (t) => {
  const { source, packet } = latched()
  t.equal(packet(HOME, 4000, 2, 4099), 'refused', 'a new SSRC beside the old one')
  t.equal(packet(HOME, 4000, 2, 4100), 'new')
  t.equal(source.latches, 1)
})

t.test('an authenticated source takes over a silent stream with a single packet', async (t) => {
  const { source, packet } = latched()
  source.setAuthenticated(true)
  t.equal(packet(ELSEWHERE, 5000, 1, 4099), 'refused')
  t.equal(packet(ELSEWHERE, 5000, 1, 4100), 'same', 'a NAT')
  for (let at = 4120; at <= 6000; at += 20) packet(ELSEWHERE, 5000, 1, at)
  t.equal(packet(HOME, 6000, 2, 6999), 'refused')
  t.equal(packet(HOME, 6000, 2, 7000), 'new', 'another sender')
})

t.test('a new address in SDP restarts the latch, the same one changes nothing', async (t) => {
  const { source, packet } = latched()
  source.setSdpAddress(HOME, 4000)
  t.equal(packet(ELSEWHERE, 5000, 2, 4020), 'refused')
  source.setSdpAddress(ELSEWHERE, 5000)
  t.match(source, { address: ELSEWHERE, port: 5000 })
  t.equal(packet(ELSEWHERE, 5000, 2, 4040), 'new')
  t.equal(packet(HOME, 4000, 1, 4060), 'refused')
})

t.test('a query does not change the latch', async (t) => {
  const { source, packet } = latched()
  source.setAuthenticated(true)
  t.equal(source.wouldRefuse(ELSEWHERE, 5000, 2, 4020), true)
  t.equal(source.wouldRefuse(ELSEWHERE, 5000, 2, 6000), false)
  t.equal(source.wouldRefuse(HOME, 4000, 2, 4020), false, 'it may be an event')
  t.match(source, { address: HOME, latches: 1, unknownSources: 0 })
  t.equal(packet(HOME, 4000, 1, 6000), 'same')
})
