import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Log, silentLog } from '../../../media/base/log.js'
import type { CallEvent } from '../../../signalling/call/call-events.js'
import { openEventSpool } from './event-spool.js'

const event = (seq: number, sipCallId = 'a'): CallEvent => ({
  callId: 'call_1',
  seq,
  at: seq * 1_000,
  type: 'dialing',
  sipCallId,
})

async function leftIn(folder: string): Promise<readonly CallEvent[]> {
  const spool = await openEventSpool(folder, silentLog)
  await spool.close()
  return spool.left
}

function recorded(): { readonly log: Log; readonly messages: string[] } {
  const messages: string[] = []
  const log = { ...silentLog, error: (_fields: object, message: string) => void messages.push(message) }
  return { log, messages }
}

t.test('events outlive the process, in order', async (t) => {
  const folder = t.testdir({})
  const first = await openEventSpool(folder, silentLog)
  t.same(first.left, [])
  t.ok(await first.add([event(1), event(2)], false))
  t.ok(await first.add([event(3, 'ನಮಸ್ಕಾರ\n')], false))
  // No close: the process was killed.
  const second = await openEventSpool(folder, silentLog)
  t.same(second.left, [event(1), event(2), event(3, 'ನಮಸ್ಕಾರ\n')])
  t.ok(await second.add([event(4)], false))
  await second.close()
  const third = await openEventSpool(folder, silentLog)
  t.equal(third.left.length, 4)
  await third.clear()
  t.ok(await third.add([event(5)], false))
  await third.close()
  await first.close()
  t.same(await leftIn(folder), [event(5)], 'nothing from before the end')
})

t.test('the file is private and keeps its room on the disk', async (t) => {
  const folder = t.testdir({})
  const spool = await openEventSpool(folder, silentLog)
  const path = join(folder, 'call-events')
  t.equal(statSync(path).mode & 0o777, 0o600)
  const { size, blocks } = statSync(path)
  t.equal(size, 4 * 2 ** 20)
  t.ok(blocks * 512 >= size, 'not a sparse file')
  await spool.add(
    Array.from({ length: 9_000 }, (_, seq) => event(seq, 'x'.repeat(500))),
    false,
  )
  t.ok(statSync(path).size > size)
  await spool.clear()
  t.equal(statSync(path).size, size)
  await spool.close()
})

t.test('events that only inform leave room for the others', async (t) => {
  const { log, messages } = recorded()
  const folder = t.testdir({})
  const path = join(folder, 'call-events')
  const spool = await openEventSpool(folder, log, 8 * 2 ** 20)
  const many = Array.from({ length: 500 }, (_, seq) => event(seq, 'x'.repeat(2_000)))
  let written = 0
  while (await spool.add(many, true)) {
    written++
    const used = readFileSync(path).indexOf(0)
    t.ok(statSync(path).size - used >= 2 * 2 ** 20, 'the reserve is on the disk')
  }
  t.equal(written, 6)
  t.same(messages, ['call_events.spool_full'])
  t.ok(await spool.add(many, false))
  await spool.close()
  t.equal((await leftIn(folder)).length, 7 * 500)
})

t.test('a line that a crash cut off ends the events', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, 'call-events')
  writeFileSync(path, `${JSON.stringify(event(1))}\n{"callId":"call_1","se`)
  const spool = await openEventSpool(folder, silentLog)
  t.same(spool.left, [event(1)])
  await spool.add([event(2)], false)
  await spool.close()
  t.same(await leftIn(folder), [event(1), event(2)])
})

t.test('a full file refuses events and says so', async (t) => {
  const { log, messages } = recorded()
  const folder = t.testdir({})
  const spool = await openEventSpool(folder, log, 200)
  t.ok(await spool.add([event(1)], false))
  t.notOk(await spool.add([event(2, 'x'.repeat(200))], false))
  t.same(messages, ['call_events.spool_full'])
  t.ok(await spool.add([event(3)], false), 'a smaller one still fits')
  await spool.close()
  t.same(await leftIn(folder), [event(1), event(3)])
})

t.test('a file that cannot be written: events are refused, or the start fails', async (t) => {
  const { log, messages } = recorded()
  const folder = t.testdir({})
  const spool = await openEventSpool(folder, log)
  await spool.close()
  t.notOk(await spool.add([event(1)], false))
  await spool.add([], false)
  t.ok(messages.includes('call_events.spool_failed'))
  const other = t.testdir({})
  mkdirSync(join(other, 'call-events'))
  await t.rejects(openEventSpool(other, silentLog), { code: 'storage_failed' })
})

t.test('a file of an earlier run that lost its room gets it back', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, 'call-events')
  const spool = await openEventSpool(folder, silentLog)
  await spool.add([event(1)], false)
  await spool.close()
  truncateSync(path, readFileSync(path).indexOf(0))
  appendFileSync(path, '')
  t.same(await leftIn(folder), [event(1)])
  t.equal(statSync(path).size, 4 * 2 ** 20)
})
