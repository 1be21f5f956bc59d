import { Readable } from 'node:stream'
import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { addFunds } from '../../../fixtures/database/funds.js'
import { readyForLive } from '../../../fixtures/database/ready-for-live.js'
import { newId } from '../../../media/base/ids.js'
import type { DndRegister, RegisterAnswer } from '../../api/dnd-register.js'
import { freeze } from '../../wallet/ledger.js'
import { readWallet } from '../../wallet/store.js'
import { istMidnight } from '../calling-hours.js'
import { askRegister, sweepRegisterAnswers } from './ask-register.js'
import { importScrub } from './scrub-import.js'

const NUMBER = '+919876543210'
const FEE = 10
const HOUR = 3_600_000
const DAY = 24 * HOUR

await onEachDialect(t, async (t, open) => {
  let answer: RegisterAnswer | null = null
  let asked = 0
  /** Runs while the register is asked. */
  let meanwhile = async () => {}
  const dndService: DndRegister = {
    name: 'operator-dlt',
    feePaise: FEE,
    maxNumbers: 3,
    async lookUp({ e164s }) {
      asked++
      await meanwhile()
      return new Map(answer === null ? [] : e164s.map((e164) => [e164, answer as RegisterAnswer]))
    },
  }
  const calling = await openTestCalling(await open(), { dndService })
  const { api, clock, deps, owner } = calling
  const { organizationId } = owner
  const { db } = deps
  const ask = (e164: string | readonly string[], environment: 'live' | 'test' = 'live') => {
    const at = clock.wall()
    const run = {
      organizationId,
      environment,
      runId: newId('run', at),
      purpose: 'promotional',
      peId: null,
      at,
    }
    return askRegister(deps, typeof e164 === 'string' ? [e164] : e164, run)
  }
  const fees = () =>
    db
      .selectFrom('ledgerEntries')
      .select(['amountPaise', 'category', 'referenceType'])
      .where('type', '=', 'compliance_check')
      .execute()
  const answers = () =>
    db.selectFrom('registerAnswers').select(['e164', 'state', 'register', 'costPaise']).execute()
  const check = () =>
    api.send('POST', '/v1/compliance/check', {
      key: api.liveKey,
      json: { e164: NUMBER, purpose: 'promotional' },
    })

  await t.test('an empty wallet asks no service', async (t) => {
    answer = { state: 'not_listed', category: null, reference: null, validUntil: null }
    t.equal(await ask(NUMBER), false)
    t.equal(asked, 0)
    t.same(await answers(), [])
  })

  await t.test('an answer is charged once for each number and day', async (t) => {
    await addFunds(db, organizationId, 5_000, clock.wall())
    answer = null
    t.equal(await ask(NUMBER), true)
    t.same([asked, await fees(), await answers()], [1, [], []], 'an unknown answer is free')
    answer = { state: 'listed', category: 'full', reference: 'S-1', validUntil: clock.wall() + 1 }
    t.equal(await ask(NUMBER), true)
    const fee = { amountPaise: -FEE, category: 'compliance', referenceType: 'compliance_run' }
    t.match(await fees(), [fee])
    t.match(await answers(), [{ e164: NUMBER, state: 'listed', register: 'operator-dlt', costPaise: FEE }])
    clock.advance(2)
    t.equal(await ask(NUMBER), true, 'an answer that has ended is asked for again')
    t.same([asked, (await fees()).length], [3, 1], 'on the same day without a further fee')
    clock.advance(DAY)
    answer = { state: 'not_listed', category: null, reference: null, validUntil: null }
    await ask(NUMBER)
    t.equal((await fees()).length, 2)
  })

  await t.test('runs at once are charged once', async (t) => {
    const other = '+919876543219'
    t.same(await Promise.all(Array.from({ length: 8 }, () => ask(other))), Array(8).fill(true))
    t.equal((await fees()).length, 3)
  })

  await t.test(
    'many numbers: one entry for each request, without those that are bought already',
    async (t) => {
      const numbers = Array.from({ length: 5 }, (_, index) => `+91987654322${index}`)
      await ask(numbers[1] ?? '')
      const before = asked
      const entries = (await fees()).length
      t.equal(await ask(numbers), true)
      t.equal(asked - before, 2, 'three numbers a request')
      t.same(
        (await fees()).slice(entries).map(({ amountPaise }) => amountPaise),
        [-2 * FEE, -2 * FEE],
      )
      t.equal((await answers()).filter(({ e164 }) => numbers.includes(e164)).length, 5)

      clock.advance(DAY)
      const wallet = await readWallet(db, organizationId, clock.wall())
      await addFunds(db, organizationId, 4 * FEE + 5 - wallet.balancePaise, clock.wall())
      t.equal(await ask(numbers), false, 'the wallet pays for four of them')
      t.match((await readWallet(db, organizationId, clock.wall())).balancePaise, 5)
      clock.advance(DAY)
      await addFunds(db, organizationId, 5_000, clock.wall())
    },
  )

  await t.test('the sandbox is free', async (t) => {
    const before = [asked, (await fees()).length]
    t.equal(await ask(NUMBER, 'test'), true)
    t.same([asked, (await fees()).length], before)
  })

  await t.test('money that is gone when the answer comes', async (t) => {
    const frozen = '+919876543218'
    const setFrozen = (reason: string | null) =>
      db.transaction().execute((trx) => freeze(trx, organizationId, reason, clock.wall()))
    meanwhile = async () => void (await setFrozen('review'))
    t.equal(await ask(frozen), false)
    t.notOk(
      (await answers()).some(({ e164 }) => e164 === frozen),
      'an answer that is not paid is not used',
    )
    meanwhile = async () => {}
    await setFrozen(null)
  })

  await t.test('a later scrub replaces answers that were bought on its day', async (t) => {
    clock.advance(istMidnight(clock.wall()) + DAY + 8 * HOUR - clock.wall())
    const [replaced, absent] = ['+919876543230', '+919876543231'] as const
    const scrub = (listed: boolean, scrubbedAt: number) => {
      const content = Readable.from([Buffer.from(`e164,listed\n${replaced},${listed}\n`)])
      return importScrub(deps, { content, scrubbedAt, validUntil: clock.wall() + HOUR, createdBy: null })
    }
    const of = async (e164: string) => {
      await ask(e164)
      return (await answers()).find((row) => row.e164 === e164)
    }
    const before = (await fees()).length
    answer = { state: 'not_listed', category: null, reference: null, validUntil: null }
    const bought = { state: 'not_listed', register: 'operator-dlt', costPaise: FEE }
    for (const e164 of [replaced, absent]) t.match(await of(e164), bought)
    clock.advance(HOUR)
    await scrub(true, clock.wall() - 2 * HOUR)
    const inForce = () =>
      db
        .selectFrom('registerAnswers')
        .select(['e164', 'validUntil'])
        .where('validUntil', '>', clock.wall())
        .execute()
    const midnight = istMidnight(clock.wall()) + DAY
    t.match(
      (await inForce()).filter(({ e164 }) => e164 === replaced),
      [{ validUntil: midnight }],
      'an earlier scrub replaces no answer',
    )
    await scrub(true, clock.wall())
    t.notOk((await inForce()).some(({ e164 }) => e164 === replaced))
    t.ok(
      (await inForce()).some(({ e164 }) => e164 === absent),
      'a number that the scrub does not hold',
    )
    const questions = asked
    t.match(await of(replaced), { state: 'listed', register: 'scrub_file' })
    t.equal(asked, questions, 'the scrub answers')
    await scrub(false, clock.wall())
    t.match(await of(replaced), { state: 'not_listed', register: 'scrub_file' })
    clock.advance(HOUR)
    await sweepRegisterAnswers(db, clock.wall())
    t.match(await of(replaced), bought, 'the service is asked again when the scrub has ended')
    t.equal(asked, questions + 1)
    t.equal((await fees()).length, before + 2, 'a number is paid for once a day')
    clock.advance(DAY)
    await sweepRegisterAnswers(db, clock.wall())
    t.same(await answers(), [])
  })

  await t.test('the check before a call', async (t) => {
    clock.advance(DAY)
    const before = asked
    t.match(await check(), { status: 200, body: { data: { allowed: false, checkType: 'verification' } } })
    t.equal(asked, before, 'a call that is refused anyway buys no answer')
    await readyForLive(db, organizationId, [], clock.wall())
    const row = { type: 'dnd_register', outcome: 'pass', reason: 'not_listed' }
    const { runId, checks } = dataOf(await check()) as { runId: string; checks: { type: string }[] }
    t.match(
      checks.find(({ type }) => type === 'dnd_register'),
      row,
    )
    const bought = await db
      .selectFrom('ledgerEntries')
      .select('amountPaise')
      .where('referenceId', '=', runId)
      .execute()
    t.same(bought, [{ amountPaise: -FEE }], 'the entry names the run')
    await check()
    t.equal(asked, before + 1, 'the answer of the day is used again')

    clock.advance(DAY)
    const wallet = await readWallet(db, organizationId, clock.wall())
    await addFunds(db, organizationId, FEE - 1 - wallet.balancePaise, clock.wall())
    t.match(await check(), { status: 402, body: { error: { code: 'insufficient_funds', message: /fee/ } } })
  })
  await calling.close()
})
