import t from 'tap'
import { sequenceDelta, timestampDelta } from './sequence.js'

t.test('differences across the wrap', (t) => {
  t.equal(sequenceDelta(1, 65535), 2)
  t.equal(sequenceDelta(65535, 1), -2)
  t.equal(sequenceDelta(32767, 0), 32767)
  t.equal(sequenceDelta(32768, 0), -32768)
  t.equal(timestampDelta(100, 0xffffffff), 101)
  t.equal(timestampDelta(0xffffffff, 100), -101)
  t.equal(timestampDelta(0x80000000, 0), -0x80000000)
  t.end()
})
