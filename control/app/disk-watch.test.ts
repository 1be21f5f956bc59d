import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { watchDisk } from './disk-watch.js'

t.test('a disk that fills up, and has room again', async (t) => {
  const clock = new VirtualClock()
  const said: string[] = []
  const say = (_fields: object, event: string) => said.push(event)
  let free: number | Error = 3_000
  const watch = await watchDisk({
    folder: '/data',
    minFreeBytes: 2_000,
    clock,
    log: { debug() {}, info: say, warn: say, error: say },
    freeBytes: async () => {
      if (free instanceof Error) throw free
      return free
    },
  })
  const later = async (bytes: number | Error) => {
    free = bytes
    await clock.advanceAsync(5_000, 1_000)
    return watch.isLow
  }
  t.equal(watch.isLow, false)
  t.equal(await later(2_000), false)
  t.equal(await later(1_999), true)
  t.equal(await later(10), true)
  t.equal(await later(new Error('gone')), true, 'as it was known last')
  t.equal(await later(5_000), false)
  t.strictSame(said, ['disk.low', 'disk.unknown', 'disk.free_again'])
  await watch.close()
  t.equal(await later(1), false, 'not after the end')
})

t.test('the file system is asked at the start; 0 asks nothing', async (t) => {
  const clock = new VirtualClock()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const folder = t.testdir()
  const full = await watchDisk({ folder, minFreeBytes: Number.MAX_SAFE_INTEGER, clock, log })
  t.equal(full.isLow, true)
  const off = await watchDisk({ folder: '/no/such/folder', minFreeBytes: 0, clock, log })
  t.equal(off.isLow, false)
  await Promise.all([full.close(), off.close()])
})
