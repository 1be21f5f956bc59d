import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openMortal } from '../../fixtures/database/mortal.js'
import { WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { silentLog } from '../../media/base/log.js'
import { ANSWER_MS, askCarrier, atCarrier, openCallRequests, TAKE_MS } from './call-requests.js'
import { RememberedRequests } from './done-requests.js'

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { clock, send } = calling
  const watched = openMortal(database, () => {})
  const { db } = watched
  const deps = { ...calling.deps, db }
  await calling.publishAgent()
  const placed = await send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const id = String(dataOf(placed).id)
  const call = { id, nodeId: 'node-2' }
  const count = async () => (await db.selectFrom('callRequests').select('id').execute()).length
  /** Advances the clock until the work is done, while no statement is under way: the database may stand still. */
  const settled = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    const deadline = Date.now() + WAIT_LIMIT_MS
    while (!isDone && Date.now() < deadline) {
      clock.advance(100)
      await watched.quiet()
    }
    return await done
  }
  const carrier = (
    handlers: Parameters<typeof openCallRequests>[0]['handlers'],
    live = 1,
    done = new RememberedRequests(),
  ) => openCallRequests({ db, clock, log: silentLog, nodeId: 'node-2', live: () => live, handlers, done })

  await t.test('the carrying process answers each request once', async (t) => {
    const done: unknown[] = []
    const handlers = {
      double: async (callId: string, body: unknown) => {
        done.push(body)
        return { callId, twice: 2 * Number(body) }
      },
      fail: async () => {
        throw new Error('no')
      },
    }
    // Two of them: each request is taken by one only.
    const carriers = [carrier(handlers), carrier(handlers)]
    const asked = [1, 2, 3].map((body) => askCarrier(deps, call, { kind: 'double', body, id: null }))
    t.same(
      await settled(Promise.all(asked)),
      [2, 4, 6].map((twice) => ({ answer: { callId: id, twice } })),
    )
    t.same(done.toSorted(), [1, 2, 3])
    t.equal(await settled(askCarrier(deps, call, { kind: 'fail', body: null, id: null })), null)
    t.equal(await settled(askCarrier(deps, call, { kind: 'unknown', body: null, id: null })), null)
    t.equal(await count(), 0)
    for (const one of carriers) await one.close()
  })

  await t.test('a repeated request is carried out once, here and elsewhere', async (t) => {
    let times = 0
    const handlers = { add: async () => ++times }
    const done = new RememberedRequests()
    const elsewhere = carrier(handlers, 1, done)
    const ask = () => settled(askCarrier(deps, call, { kind: 'add', body: null, id: 'request 1' }))
    t.same(await ask(), { answer: 1 })
    t.same(await ask(), { answer: 1 }, 'after the answer was read')
    t.equal(await count(), 0)
    await elsewhere.close()

    const own = { ...deps, nodeId: call.nodeId, doneRequests: done }
    const here = (id: string | null) => atCarrier(own, call, { kind: 'add', body: null, id }, handlers.add)
    t.same(await here('request 1'), { answer: 1 })
    t.same(await here('request 2'), { answer: 2 })
    t.same([await here(null), await here(null)], [{ answer: 3 }, { answer: 4 }], 'nobody can tell')
    const broken = () => atCarrier(own, call, { kind: 'add', body: null, id: 'request 3' }, fail)
    const fail = async () => {
      times++
      throw new Error('no')
    }
    await t.rejects(broken())
    await t.rejects(broken())
    t.equal(times, 6, 'what failed is tried again')
  })

  await t.test('a request that nobody takes is withdrawn, and never carried out later', async (t) => {
    const begun = clock.now()
    t.equal(await settled(askCarrier(deps, call, { kind: 'double', body: 1, id: null })), null)
    t.ok(clock.now() - begun >= TAKE_MS)
    t.equal(await count(), 0)
    // A process without live calls asks the database nothing.
    const idle = carrier({ double: async () => t.fail('it has no call') }, 0)
    t.equal(await settled(askCarrier(deps, call, { kind: 'double', body: 1, id: null })), null)
    await idle.close()
  })

  await t.test('a process that dies with a request leaves no open question', async (t) => {
    const stuck = carrier({ double: () => new Promise(() => {}) })
    const begun = clock.now()
    t.equal(await settled(askCarrier(deps, call, { kind: 'double', body: 1, id: null })), null)
    t.ok(clock.now() - begun >= TAKE_MS + ANSWER_MS)
    t.equal(await count(), 0)
    void stuck.close()
  })
  await calling.close()
})
