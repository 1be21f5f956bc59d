import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { CARRIER_RIGS } from '../../fixtures/carriers/carrier-rigs.js'
import type { FakeRequest, Mishap } from '../../fixtures/carriers/fake-carrier.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { verifyOrganization } from '../../fixtures/database/verified.js'
import { type Random, seeded } from '../../fixtures/host/random.js'
import { readWallet } from '../wallet/store.js'
import { settlePurchase } from './purchase.js'

/*
 * Purchases over the adapter of every carrier while its answers are lost, cut or broken at random: no number is bought
 * twice, each number that the carrier sold is paid once, and no money stays held.
 */

const PURCHASES = 12
const RETRIES = 3
const FUNDS_PAISE = 10_000_000

await onEachDialect(t, async (t, open) => {
  for (const [provider, openRig] of Object.entries(CARRIER_RIGS)) {
    await t.test(provider, async (t) => {
      const wallMs = Date.UTC(2025, 0, 15, 5, 30)
      let wall = () => wallMs
      const rig = await openRig(() => wall())
      t.teardown(() => rig.api.close())
      const calling = await openTestCalling(await open(), { wallMs, carriers: () => [rig.carrier] })
      const { api, deps, clock } = calling
      wall = () => clock.wall()
      const { organizationId } = calling.owner
      await verifyOrganization(deps.db, organizationId, clock.wall())
      await addFunds(deps.db, organizationId, FUNDS_PAISE, clock.wall())
      const random = seeded(7)
      const seen = new Set<string>()

      for (let n = 0; n < PURCHASES; n++) {
        const e164 = `+9180471${String(n).padStart(5, '0')}`
        rig.sell(e164)
        const buy = async () => {
          const answer = await api.send('POST', '/v1/numbers/purchase', {
            key: api.liveKey,
            json: { e164, provider },
            headers: { 'idempotency-key': `purchase-${n}` },
          })
          // Time passes in which the list is read again, and the limit of requests does not matter.
          clock.advance(45_000)
          return answer.status
        }
        const before = rig.orders()
        rig.api.mishap = (request) => mishapOf(random, rig.isPurchase(request), request)
        const statuses: number[] = []
        for (let retry = 0; retry < RETRIES; retry++) statuses.push(await buy())
        rig.api.mishap = () => null
        clock.advance(10 * 60_000)
        const row = await deps.db
          .selectFrom('numbers')
          .select(['id', 'status'])
          .where('e164', '=', e164)
          .orderBy('id', 'desc')
          .executeTakeFirst()
        if (row !== undefined)
          t.equal(await settlePurchase(deps, row.id), null, 'the list decides in the end')
        t.ok(rig.orders() - before <= 1, `${e164}: asked ${rig.orders() - before} times: ${statuses}`)
        const listed = await rig.carrier.listOwned(new AbortController().signal)
        if (!listed.ok) throw new Error(listed.reason)
        const sold = listed.value.some((owned) => owned.e164 === e164)
        const state = row === undefined ? 'none' : (await stateOf(row.id)).status
        t.equal(state === 'active', sold, `${e164} is ${state}, ${statuses}`)
        seen.add(state)
      }

      t.same(
        [...seen].filter((state) => !['active', 'failed', 'none'].includes(state)),
        [],
      )
      t.ok(seen.has('active') && seen.size > 1, `${[...seen]}`)
      const wallet = await readWallet(deps.db, organizationId, clock.wall())
      t.equal(wallet.heldPaise, 0, 'no money stays held')
      const active = await deps.db
        .selectFrom('numbers')
        .select(['rentalPaise', 'setupPaise'])
        .where('environment', '=', 'live')
        .where('status', '=', 'active')
        .where('provider', '=', provider)
        .execute()
      const paid = active.reduce((sum, row) => sum + Number(row.rentalPaise) + Number(row.setupPaise), 0)
      t.equal(wallet.balancePaise, FUNDS_PAISE - paid, 'each number is paid once')
      await calling.close()

      async function stateOf(id: string) {
        return deps.db.selectFrom('numbers').select('status').where('id', '=', id).executeTakeFirstOrThrow()
      }
    })
  }
})

/** Chooses what happens to a request. A carrier may fail, but it does not lie: a refusal has no effect. */
function mishapOf(random: Random, purchase: boolean, { method }: FakeRequest): Mishap | null {
  const fate = random.next()
  if (fate < 0.5) return null
  if (fate < 0.65) return { kind: 'cut', effect: method === 'GET' || random.next() < 0.5 }
  if (fate < 0.72) return { kind: 'answer', status: 200, body: '<html>welcome</html>', effect: true }
  if (fate < 0.77) return { kind: 'answer', status: 200, body: '{"error":"internal"}', effect: true }
  if (fate < 0.83) return { kind: 'mangled', change: (answer) => answer.slice(0, answer.length / 2) }
  if (fate < 0.86) return { kind: 'mangled', change: (answer) => withoutMembers(answer, random) }
  if (fate < 0.92) return { kind: 'answer', status: 502, body: 'Bad gateway', effect: true }
  return purchase
    ? { kind: 'answer', status: 400, body: '{"error":"bad number"}' }
    : { kind: 'answer', status: 429, body: '{}' }
}

/** Returns a JSON answer without about a third of its members. */
function withoutMembers(answer: string, random: Random): string {
  if (answer === '') return answer
  return JSON.stringify(
    JSON.parse(answer, (key, value: unknown) => (key !== '' && random.next() < 0.3 ? undefined : value)),
  )
}
