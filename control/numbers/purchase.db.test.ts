import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { ScriptedCarrier } from '../../fixtures/carriers/scripted-carrier.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { openMortal } from '../../fixtures/database/mortal.js'
import { verifyOrganization } from '../../fixtures/database/verified.js'
import { silentLog } from '../../media/base/log.js'
import { failed, ok } from '../carriers/carrier.js'
import { openCarriers } from '../carriers/directory.js'
import { openJobRunner } from '../jobs/runner.js'
import { freeze, post } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { numberHandlers } from './number-jobs.js'
import { purchaseNumber, settlePurchase } from './purchase.js'
import { activate, beginPurchase, findBegunPurchase } from './purchase-store.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const metaOf = (answer: { body: unknown }) =>
  (
    answer.body as {
      meta: { pagination: { cursor: string; hasMore: boolean; total?: number }; warnings?: unknown }
    }
  ).meta

await onEachDialect(t, async (t, open) => {
  await t.test('the sandbox carrier', async (t) => {
    const calling = await openTestCalling(await open())
    const { send, deps, clock } = calling
    let keys = 0
    const buy = (index: number, more: object = {}, key = `k${++keys}`) =>
      send('POST', '/v1/numbers/purchase', {
        json: { e164: `+91900000${String(index).padStart(4, '0')}`, provider: 'sandbox', ...more },
        headers: { 'idempotency-key': key },
      })

    await t.test('offers come in stable pages, cheapest first', async (t) => {
      t.same(itemsOf(await send('GET', '/v1/numbers/carriers')), [{ label: 'Sandbox', provider: 'sandbox' }])
      t.equal(itemsOf(await send('GET', '/v1/numbers/regions?provider=sandbox')).length, 22)
      t.equal((await send('GET', '/v1/numbers/regions?provider=nobody')).status, 400)
      const first = await send('GET', '/v1/numbers/available?limit=100&contains=55')
      const { total } = metaOf(first).pagination
      const seen: unknown[] = []
      for (let page = first; ; ) {
        seen.push(...itemsOf(page))
        const { cursor, hasMore } = metaOf(page).pagination
        if (!hasMore) break
        page = await send('GET', `/v1/numbers/available?limit=100&contains=55&cursor=${cursor}`)
        t.equal(metaOf(page).pagination.total, undefined)
      }
      const offers = seen as { e164: string; totalPaise: number; renewsAt: string }[]
      t.equal(offers.length, total)
      t.equal(new Set(offers.map(({ e164 }) => e164)).size, total)
      t.same(
        offers,
        offers.toSorted((a, b) => a.totalPaise - b.totalPaise || (a.e164 < b.e164 ? -1 : 1)),
      )
      t.match(offers[0], { totalPaise: 60_000, setupPaise: 10_000, series: 'regular', currency: 'INR' })
      t.notOk(offers.some(({ e164 }) => e164 === calling.number))
      const region = itemsOf(await send('GET', '/v1/numbers/available?region=KA'))
      t.ok(region.length > 0 && region.every((offer) => offer.region === 'KA'))
      t.same(itemsOf(await send('GET', '/v1/numbers/available?numberType=landline')), [])
      t.equal(
        errorOf(await send('GET', '/v1/numbers/available?series=service_160')).code,
        'blocked_dlt_invalid',
      )
      t.equal((await send('GET', '/v1/numbers/available?contains=5')).status, 400)
    })

    await t.test('a number is bought once for a key', async (t) => {
      const agentId = await calling.publishAgent()
      const bought = await buy(555, { label: 'Desk', agentId }, 'once')
      t.equal(bought.status, 201)
      const number = dataOf(bought)
      t.match(number, {
        status: 'active',
        inbound: 'ready',
        inboundReason: null,
        routed: true,
        label: 'Desk',
        agentId,
        rentalPaise: 50_000,
        setupPaise: 10_000,
        renewalCycle: 'calendar_month',
        nextRentalAt: '2025-01-31T18:30:00.000Z',
      })
      t.same((await buy(555, { label: 'Desk', agentId }, 'once')).body, bought.body)
      t.equal(errorOf(await buy(555)).code, 'number_unavailable')
      t.equal((await send('POST', '/v1/numbers/purchase', { json: {} })).status, 400)
      const out = dataOf(await send('POST', `/v1/numbers/${number.id}/inbound`, { json: { enabled: false } }))
      t.match(out, { inbound: 'disabled', routed: false })
      const back = dataOf(await send('POST', `/v1/numbers/${number.id}/inbound`, { json: { enabled: true } }))
      t.match(back, { inbound: 'ready', routed: true })
      t.match(dataOf(await send('POST', `/v1/numbers/${number.id}/release`)), {
        ...{ status: 'released', agentId: null, inbound: 'disabled', routed: false },
      })
      t.equal((await send('POST', `/v1/numbers/${number.id}/release`)).status, 404)
      for (const [path, json] of [
        ['/v1/calls', { to: '+919876543210', numberId: number.id }],
        ['/v1/compliance/check', { e164: '+919876543210', numberId: number.id }],
        ['/v1/sandbox/inbound-calls', { from: '+919876543210', numberId: number.id }],
      ] as const) {
        const answer = await send('POST', path, { json })
        t.equal(answer.status, 422, path)
        t.match(answer.body, {
          error: { code: 'unprocessable_entity', message: /was released/, details: { path: 'numberId' } },
        })
      }
      t.equal((await buy(555)).status, 201, 'it is for sale again')
    })

    await t.test('failures by the last two digits', async (t) => {
      t.equal(errorOf(await buy(1291)).code, 'number_unavailable')
      t.match(errorOf(await buy(1294)), { code: 'provider_rejected', details: { provider: 'sandbox' } })
      t.match(errorOf(await buy(1295, { confirmedTotalPaise: 60_000 })), {
        code: 'price_changed',
        details: { confirmedTotalPaise: 60_000, totalPaise: 65_000 },
      })
      t.equal((await buy(1295, { confirmedTotalPaise: 65_000 })).status, 201)
      const quota = await buy(1296)
      t.same([quota.status, errorOf(quota).code], [429, 'provider_quota_exhausted'])
      t.equal(errorOf(await buy(1297)).code, 'compliance_incomplete')
      t.equal(errorOf(await buy(1299, { provider: 'vobiz' })).code, 'validation_error')
      const wanted = {
        json: { e164: '+911401234567', provider: 'sandbox' },
        headers: { 'idempotency-key': 's' },
      }
      t.equal(errorOf(await send('POST', '/v1/numbers/purchase', wanted)).code, 'blocked_dlt_invalid')
      // The answer is lost, but the carrier's list has the number.
      t.equal((await buy(1292)).status, 201)
      const lost = await buy(1293, {}, 'lost')
      t.same([lost.status, errorOf(lost).code], [503, 'provider_unavailable'])
      const { numberId } = errorOf(lost).details
      t.match(dataOf(await send('GET', `/v1/numbers/${numberId}`)), { status: 'pending', routed: false })
      t.equal((await send('POST', `/v1/numbers/${numberId}/release`)).status, 409)
      clock.advance(120_000)
      t.equal(await settlePurchase(deps, String(numberId)), null)
      t.match(dataOf(await send('GET', `/v1/numbers/${numberId}`)), { status: 'failed' })
      t.equal((await buy(1293, {}, 'lost')).status, 503, 'the same key buys nothing more')
    })
    await calling.close()
  })

  await t.test('a carrier of the live environment', async (t) => {
    const [vobiz, plivo] = [new ScriptedCarrier('vobiz'), new ScriptedCarrier('plivo')]
    const database = await open()
    const calling = await openTestCalling(database, { carriers: () => [vobiz, plivo] })
    const { api, deps, clock } = calling
    const { organizationId } = calling.owner
    const live = (method: string, path: string, json?: unknown, key?: string) =>
      api.send(method, path, {
        key: api.liveKey,
        ...(json === undefined ? {} : { json }),
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      })
    const numberOf = (index: number) => `+9180471000${String(index).padStart(2, '0')}`
    for (let index = 0; index < 40; index++) vobiz.offer(numberOf(index), 50_000 + index)
    let keys = 0
    const buy = (index: number, key = `k${++keys}`, more: object = {}) =>
      live('POST', '/v1/numbers/purchase', { e164: numberOf(index), provider: 'vobiz', ...more }, key)
    const wallet = async () => {
      const { balancePaise, heldPaise } = await readWallet(deps.db, organizationId, clock.wall())
      return [balancePaise, heldPaise]
    }
    const lost = failed('provider_unavailable', 'no answer', { unknown: true })
    const held = (answer: { body: unknown }) => String(errorOf(answer).details.numberId)
    const notices = async () => {
      const mails = await deps.db.selectFrom('mails').select('fields').where('kind', '=', 'notice').execute()
      return mails.map(({ fields }) => (JSON.parse(fields) as { subject: string }).subject)
    }

    await t.test(
      'offers of two carriers: cheapest first, in stable pages, also when one fails',
      async (t) => {
        for (let index = 0; index < 5; index++) plivo.offer(`+9122471000${index}0`, 50_000 + 2 * index)
        const path = '/v1/numbers/available?limit=7'
        const read = async (contains: string, betweenPages: () => void) => {
          const first = await live('GET', `${path}&contains=${contains}`)
          const seen = [...itemsOf(first)]
          const warned = [metaOf(first).warnings ?? []]
          let { cursor, hasMore } = metaOf(first).pagination
          const { total } = metaOf(first).pagination
          while (hasMore) {
            betweenPages()
            const page = await live('GET', `${path}&contains=${contains}&cursor=${cursor}`)
            seen.push(...itemsOf(page))
            warned.push(metaOf(page).warnings ?? [])
            ;({ cursor, hasMore } = metaOf(page).pagination)
          }
          const offers = seen.map(({ provider, e164, totalPaise }) => [totalPaise, provider, e164].join(' '))
          return { offers, total, warned }
        }
        const failing = failed('provider_unavailable', 'HTTP 502')
        const both = await read('80', () => {
          // The offers of the search are kept for its pages.
          plivo.outage = failing
        })
        t.equal(both.total, 45)
        t.equal(new Set(both.offers).size, 45)
        t.same(both.offers, both.offers.toSorted())
        t.same(
          both.offers.slice(0, 4).map((offer) => offer.split(' ')[1]),
          ['plivo', 'vobiz', 'vobiz', 'plivo'],
          'the same price by the name of the carrier',
        )
        t.same(both.warned.flat(), [])
        const one = await read('81', () => {})
        t.equal(one.total, 40)
        t.same(
          one.offers,
          both.offers.filter((offer) => offer.includes(' vobiz ')),
        )
        const warning = [{ provider: 'plivo', code: 'provider_unavailable' }]
        t.same(
          one.warned,
          Array.from({ length: 6 }, () => warning),
        )
        // A carrier that fails in the middle of a search: nothing is listed twice.
        plivo.outage = null
        const lost = await read('82', () => {
          clock.advance(60_000)
          plivo.outage = failing
        })
        t.equal(lost.total, 45)
        t.equal(new Set(lost.offers).size, lost.offers.length)
        t.same(lost.offers, lost.offers.toSorted())
        t.equal(lost.offers.filter((offer) => offer.includes(' vobiz ')).length, 40)
        t.same(lost.warned.at(-1), warning)
        plivo.outage = null
        plivo.stock.clear()
      },
    )

    await t.test('the failure of one carrier does not hide the others', async (t) => {
      plivo.outage = failed('provider_unavailable', 'HTTP 502')
      const found = await live('GET', '/v1/numbers/available?limit=1')
      t.match(itemsOf(found), [{ provider: 'vobiz', totalPaise: 60_000 }])
      t.same(metaOf(found).warnings, [{ provider: 'plivo', code: 'provider_unavailable' }])
      const only = await live('GET', '/v1/numbers/available?provider=plivo')
      t.same([only.status, errorOf(only).code], [503, 'provider_unavailable'])
      t.equal((await live('GET', '/v1/numbers/available?provider=sandbox')).status, 400)
    })

    await t.test('documents, then money, then the number', async (t) => {
      const early = await buy(0)
      t.match(errorOf(early), {
        code: 'compliance_incomplete',
        details: { missing: ['organization_verification'] },
      })
      await verifyOrganization(deps.db, organizationId, clock.wall())
      const poor = await buy(0)
      t.equal(poor.status, 402)
      t.match(errorOf(poor), {
        code: 'insufficient_funds',
        details: { balancePaise: 0, requiredPaise: 60_000 },
      })
      t.same(itemsOf(await live('GET', '/v1/numbers')), [])
      await addFunds(deps.db, organizationId, 200_000, clock.wall())
      t.equal((await buy(0)).status, 201)
      t.same(await wallet(), [140_000, 0])
      t.match(itemsOf(await live('GET', '/v1/wallet/ledger')), [
        { type: 'number_rental', amountPaise: -50_000, category: 'numbers' },
        { type: 'number_setup', amountPaise: -10_000, category: 'numbers' },
        {},
      ])
      t.equal(vobiz.orders.length, 1)
    })

    await t.test('a lost answer keeps the hold until the list decides', async (t) => {
      vobiz.buyAnswer = { result: lost, sells: true }
      vobiz.outage = failed('provider_unavailable', 'HTTP 503')
      await t.test('sold', async (t) => {
        vobiz.outage = null
        vobiz.offer(numberOf(1), 50_000)
        const quoteOnly = vobiz.findOwned
        vobiz.findOwned = async () => failed('provider_unavailable', 'HTTP 503')
        const answer = await buy(1, 'sold')
        t.equal(answer.status, 503)
        t.same(await wallet(), [140_000, 60_000])
        t.equal((await buy(1, 'sold')).status, 503, 'a retry does not ask again')
        clock.advance(120_000)
        t.equal(
          await settlePurchase(deps, held(answer)),
          clock.wall() + 60_000,
          'an unreadable list decides nothing',
        )
        vobiz.findOwned = quoteOnly
        t.equal((await buy(1, 'sold')).status, 201, 'the retry finds the number')
        t.same(await wallet(), [80_000, 0])
      })
      await t.test('not sold', async (t) => {
        vobiz.buyAnswer = { result: lost, sells: false }
        vobiz.offer(numberOf(2), 50_000)
        const answer = await buy(2)
        t.same(await wallet(), [80_000, 60_000])
        clock.advance(120_000)
        t.equal(await settlePurchase(deps, held(answer)), null)
        t.same(await wallet(), [80_000, 0])
        t.same(await notices(), [])
      })
      await t.test('not sold, because our own account at the carrier is too low', async (t) => {
        await deps.db.updateTable('users').set({ staff: 1 }).execute()
        vobiz.balanceAnswer = ok(59_999)
        const answer = await buy(2)
        clock.advance(120_000)
        t.equal(await settlePurchase(deps, held(answer)), null)
        t.same(await wallet(), [80_000, 0])
        t.same(await notices(), ['The account at VOBIZ is too low'])
        await deps.db.updateTable('users').set({ staff: 0 }).execute()
      })
      await t.test('an order that waits for documents', async (t) => {
        const waits = failed('compliance_incomplete', 'the carrier waits for documents', { unknown: true })
        vobiz.buyAnswer = { result: waits, sells: false }
        const answer = await buy(2, 'waits')
        clock.advance(3_600_000)
        t.equal(await settlePurchase(deps, held(answer)), clock.wall() + 3_600_000)
        t.same(await wallet(), [80_000, 60_000], 'the money stays held')
        clock.advance(7 * 86_400_000)
        t.equal(await settlePurchase(deps, held(answer)), null)
        t.same(await wallet(), [80_000, 0])
      })
      t.equal(vobiz.orders.length, 5)
      vobiz.buyAnswer = null
    })

    await t.test('a refusal frees the money', async (t) => {
      for (const code of ['number_unavailable', 'provider_rejected', 'provider_quota_exhausted'] as const) {
        vobiz.buyAnswer = { result: failed(code, 'no'), sells: false }
        t.equal(errorOf(await buy(3)).code, code)
        t.same(await wallet(), [80_000, 0])
      }
      vobiz.buyAnswer = null
    })

    await t.test(
      'many requests for one number: one is sold, and the wallet never goes below zero',
      async (t) => {
        const before = vobiz.orders.length
        const answers = await Promise.all(Array.from({ length: 8 }, () => buy(4)))
        t.equal(answers.filter(({ status }) => status === 201).length, 1)
        t.equal(vobiz.orders.length, before + 1)
        const [balance] = await wallet()
        t.equal(balance, 19_996)
        t.equal((await buy(5)).status, 402)
      },
    )

    await t.test('a crash at any point: the carrier is asked at most once', async (t) => {
      await addFunds(deps.db, organizationId, 300_000, clock.wall() + 1)
      const actor = {
        kind: 'key',
        keyId: 'key_1',
        organizationId,
        environment: 'live',
        scopes: ['admin'],
      } as const
      const start = (index: number) => {
        const offer = vobiz.stock.get(numberOf(index))
        if (offer === undefined) throw new Error('not for sale')
        const owner = { organizationId, environment: 'live' } as const
        const order = { owner, offer, label: 'L', agentId: null, idempotencyId: `crash-${index}` }
        return deps.db.transaction().execute((trx) => beginPurchase(trx, order, clock.wall()))
      }
      const retry = (index: number) =>
        purchaseNumber(
          { actor, deps, requestId: 'req_1', idempotencyId: `crash-${index}` },
          { e164: numberOf(index), provider: 'vobiz' },
        )
      const orders = () => vobiz.orders.filter(({ e164 }) => e164 >= numberOf(10)).length

      await start(10)
      t.match(await retry(10), { status: 'active' }, 'before the request: the retry sends it')
      await start(11)
      clock.advance(60_000)
      const purchase = await findBegunPurchase(deps.db, actor, 'crash-11')
      t.equal(await settlePurchase(deps, purchase?.number.id ?? ''), null)
      t.match(await retry(11), { code: 'provider_unavailable' }, 'nobody came back: nothing is bought')
      t.equal(orders(), 1)

      const asked = await start(12)
      if (typeof asked === 'string') throw new Error(asked)
      const now = clock.wall()
      await deps.db
        .updateTable('numberPurchases')
        .set({ askedAt: now })
        .where('numberId', '=', asked.number.id)
        .execute()
      t.match(await retry(12), { code: 'provider_unavailable' }, 'after the request: only the list counts')
      vobiz.owned.set(numberOf(12), asked.number.id)
      t.match(await retry(12), { status: 'active' })
      t.equal(orders(), 1)
      const again = () =>
        deps.db.transaction().execute((trx) => activate(trx, asked, { e164: '', carrierNumberId: null }, now))
      t.equal(await again(), false, 'a second activation charges nothing')
      const [, heldPaise] = await wallet()
      t.equal(heldPaise, 0)
    })

    await t.test('a number that is sold is paid, whatever happened to the wallet meanwhile', async (t) => {
      const { balancePaise } = await readWallet(deps.db, organizationId, clock.wall())
      const begun = async (index: number) => {
        const find = vobiz.findOwned
        vobiz.buyAnswer = { result: lost, sells: true }
        vobiz.findOwned = async () => failed('provider_unavailable', 'HTTP 503')
        t.equal((await buy(index, `late-${index}`)).status, 503)
        vobiz.findOwned = find
        vobiz.buyAnswer = null
      }
      const halt = (haltedAt: number | null) =>
        deps.db
          .updateTable('wallets')
          .set({ haltedAt })
          .where('organizationId', '=', organizationId)
          .execute()
      const take = (amountPaise: number, cause: string) =>
        deps.db.transaction().execute(async (trx) => {
          const reference = { type: 'topup', id: 'top_1' }
          const posting = {
            type: 'topup_refund',
            amountPaise,
            cause,
            description: 'Refund',
            reference,
          } as const
          await post(trx, organizationId, posting, clock.wall())
        })

      await begun(30)
      await halt(clock.wall())
      t.equal((await buy(30, 'late-30')).status, 201, 'a halted wallet')
      await halt(null)
      t.same(await wallet(), [balancePaise - 60_030, 0])

      await begun(31)
      await deps.db.transaction().execute((trx) => freeze(trx, organizationId, 'Under review', clock.wall()))
      // A refund takes all but one paisa of the money, also what is held.
      await take(-(balancePaise - 60_030 - 1), 'topup_refund:late')
      t.equal((await buy(31, 'late-31')).status, 201, 'money that is gone')
      t.same(await wallet(), [1 - 60_031, 0], 'the balance falls below zero by what was refunded')
      t.match(itemsOf(await live('GET', '/v1/wallet/ledger?limit=2')), [
        { type: 'number_rental', amountPaise: -50_031 },
        { type: 'number_setup', amountPaise: -10_000 },
      ])
      await deps.db.transaction().execute((trx) => freeze(trx, organizationId, null, clock.wall()))
      await take(balancePaise, 'topup:again')
    })

    await t.test('a process that dies at any statement: one number, one charge, nothing held', async (t) => {
      const owner = { organizationId, environment: 'live', scopes: ['admin'] } as const
      const actor = { kind: 'key', keyId: 'key_1', ...owner } as const
      const price = 60_000
      let index = 0
      let deaths = 0
      /** Buys a number in a process that dies after `statements`. Returns false if it lived. */
      const prove = async (statements: number, after: boolean, answer: typeof vobiz.buyAnswer) => {
        const e164 = `+9180472${String(++index).padStart(5, '0')}`
        const label = `${statements} statements, ${after ? 'after' : 'before'} the last, ${answer === null ? 'answered' : 'lost'}`
        await addFunds(deps.db, organizationId, price, clock.wall())
        const [before] = await wallet()
        const carrier = new ScriptedCarrier('vobiz')
        carrier.offer(e164)
        carrier.buyAnswer = answer
        const carriers = openCarriers([carrier], clock, silentLog)
        const request = (db: typeof deps.db, key: string) =>
          purchaseNumber(
            { actor, deps: { ...deps, db, carriers }, requestId: 'req_1', idempotencyId: key },
            { e164, provider: 'vobiz' },
          )
        const mortal = openMortal(database, () => {})
        mortal.dieIn(statements, after)
        await request(mortal.db, `${label} first`).catch((error: unknown) => {
          if (!mortal.dead) throw error
        })
        await mortal.quiet()
        // The client comes back, or only the jobs go on.
        if (!after) await request(deps.db, `${label} first`)
        const handlers = numberHandlers({ ...deps, carriers, log: silentLog })
        const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers })
        for (const ms of [0, 60_000, 120_000]) {
          clock.advance(ms)
          await runner.idle()
        }
        await runner.close()
        const held = (await wallet())[1]
        const bought = await deps.db.selectFrom('numbers').selectAll().where('e164', '=', e164).execute()
        // Nothing was bought: the client asks anew.
        if (bought.every(({ status }) => status === 'failed')) await request(deps.db, `${label} second`)
        const rows = await deps.db.selectFrom('numbers').selectAll().where('e164', '=', e164).execute()
        const active = rows.filter(({ status }) => status === 'active')
        const entries = await deps.db
          .selectFrom('ledgerEntries')
          .select(['type', 'amountPaise'])
          .where('referenceId', 'in', ['', ...rows.map(({ id }) => id)])
          .orderBy('seq')
          .execute()
        t.strictSame(
          {
            held,
            orders: carrier.orders.length,
            active: active.length,
            others: rows.filter(({ status }) => status !== 'active' && status !== 'failed').length,
            entries: entries.map(({ type, amountPaise }) => [type, Number(amountPaise)]),
            wallet: await wallet(),
          },
          {
            ...{ held: 0, orders: 1, active: 1, others: 0 },
            entries: [
              ['number_setup', -10_000],
              ['number_rental', -50_000],
            ],
            wallet: [Number(before) - price, 0],
          },
          label,
        )
        if (mortal.dead) deaths++
        return mortal.dead
      }
      for (const answer of [null, { result: lost, sells: true }]) {
        for (const after of [false, true]) {
          for (let statements = 0; await prove(statements, after, answer); ) statements++
        }
      }
      t.ok(deaths > 60, `${deaths} deaths`)
    })

    await t.test(
      'routing that fails is an error with a reason, which the job and the switch repair',
      async (t) => {
        vobiz.routeAnswer = failed('provider_unavailable', 'HTTP 502')
        const number = dataOf(await buy(20))
        t.match(number, { status: 'active', inbound: 'error', inboundReason: 'HTTP 502', routed: false })
        const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers: numberHandlers(deps) })
        await runner.idle()
        vobiz.routeAnswer = { ok: true, value: null }
        const path = `/v1/numbers/${number.id}`
        const seen: unknown[] = []
        const { route } = vobiz
        vobiz.route = async (owned) => {
          seen.push(dataOf(await live('GET', path)).inbound)
          return await route.call(vobiz, owned)
        }
        t.match(dataOf(await live('POST', `${path}/inbound`, { enabled: true })), {
          inbound: 'ready',
          inboundReason: null,
        })
        t.same(seen, ['pending'], 'not ready before the carrier says so')
        vobiz.route = route
        t.match(dataOf(await live('POST', `${path}/release`)), { status: 'released' })
        await runner.idle()
        t.same(vobiz.released, [numberOf(20)])
        await runner.close()
      },
    )
    await calling.close()
  })
})
