import t from 'tap'
import { SourceLatch } from './source-latch.js'

const HOME = '192.0.2.7'
const ELSEWHERE = '198.51.100.9'

function latched(): SourceLatch {
  const source = new SourceLatch()
  source.setSdpAddress(HOME, 4000)
  source.accept(HOME, 4000, 1, 0)
  return source
}

t.test('packets go to the SDP address, then to the source of the first packet', async (t) => {
  const source = new SourceLatch()
  source.setSdpAddress(HOME, 4000)
  t.match(source, { address: HOME, port: 4000, latches: 0 })
  t.equal(source.accept(ELSEWHERE, 5000, 1, 0), 'new')
  t.equal(source.accept(ELSEWHERE, 5000, 1, 20), 'same')
  t.match(source, { address: ELSEWHERE, port: 5000, latches: 1 })
})

t.test('for three seconds a source closer to the SDP replaces the first one', async (t) => {
  const source = new SourceLatch()
  source.setSdpAddress(HOME, 4000)
  t.equal(source.accept(ELSEWHERE, 5000, 1, 0), 'new')
  t.equal(source.accept('203.0.113.1', 5000, 2, 10), 'refused', 'a stranger is no better than another')
  t.equal(source.accept(HOME, 4002, 3, 20), 'new', 'the same machine')
  t.equal(source.accept(HOME, 4000, 4, 40), 'new', 'the very port')
  t.equal(source.accept(HOME, 4002, 3, 60), 'refused')
  t.equal(source.accept(ELSEWHERE, 5000, 1, 60), 'refused')
  t.match(source, { port: 4000, latches: 3, unknownSources: 3 })

  const late = new SourceLatch()
  late.setSdpAddress(HOME, 4000)
  late.accept(ELSEWHERE, 5000, 1, 0)
  late.accept(ELSEWHERE, 5000, 1, 3000)
  t.equal(late.accept(HOME, 4000, 2, 3000), 'refused')
})

t.test(
  'another source is accepted after a second of silence, and dropped when the first one resumes',
  async (t) => {
    const source = latched()
    for (let at = 20; at <= 4000; at += 20) source.accept(HOME, 4000, 1, at)
    t.equal(source.accept(ELSEWHERE, 5000, 2, 4999), 'refused')
    t.equal(source.accept(ELSEWHERE, 5000, 2, 5000), 'new')
    t.equal(source.accept(ELSEWHERE, 5000, 2, 5020), 'same')
    t.equal(source.accept(HOME, 4000, 1, 5040), 'new')
    t.equal(source.accept(ELSEWHERE, 5000, 2, 5060), 'refused')
    t.match(source, { address: HOME, port: 4000, latches: 3 })
  },
)

t.test('a matching address or SSRC shortens the wait', async (t) => {
  const source = latched()
  source.accept(HOME, 4000, 1, 4000)
  t.equal(source.accept(HOME, 4000, 2, 4099), 'refused', 'a new SSRC beside the old one')
  t.equal(source.accept(HOME, 4000, 2, 4100), 'new')
  t.equal(source.latches, 1)
  t.equal(source.accept(HOME, 6000, 2, 4199), 'refused')
  t.equal(source.accept(HOME, 6000, 2, 4200), 'same', 'a NAT that changed the port: the stream goes on')
  t.match(source, { port: 6000, latches: 2 })
})

t.test('a new address in SDP restarts the latch, the same one changes nothing', async (t) => {
  const source = latched()
  source.accept(HOME, 4000, 1, 4000)
  source.setSdpAddress(HOME, 4000)
  t.equal(source.accept(ELSEWHERE, 5000, 2, 4020), 'refused')
  source.setSdpAddress(ELSEWHERE, 5000)
  t.match(source, { address: ELSEWHERE, port: 5000 })
  t.equal(source.accept(ELSEWHERE, 5000, 2, 4040), 'new')
  t.equal(source.accept(HOME, 4000, 1, 4060), 'refused')
})

t.test('a query does not change the latch', async (t) => {
  const source = latched()
  t.equal(source.wouldRefuse(ELSEWHERE, 5000, 2, 20), true)
  t.equal(source.wouldRefuse(ELSEWHERE, 5000, 2, 2000), false)
  t.match(source, { address: HOME, latches: 1, unknownSources: 0 })
  t.equal(source.accept(HOME, 4000, 1, 2000), 'same')
})
