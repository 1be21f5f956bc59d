import type { Deps } from '../api/deps.js'
import { istDate, istMidnight } from '../base/ist.js'
import type { Carrier, OwnedNumber } from '../carriers/carrier.js'
import type { Db } from '../db/database.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { queueMailToStaff } from '../mail/outbox.js'

const KIND = 'number-inventory'
const DAY_MS = 86_400_000
/** Time of the day (IST) of the comparison. */
const CHECK_HOUR = 3
/** Time limit of a carrier's list (ms). It may have hundreds of pages. */
const LIST_MS = 5 * 60_000
/** A release takes effect at the carrier within this time (ms), also if the carrier has to be asked again. */
const RELEASE_MS = 2 * DAY_MS
/** An outcome of a purchase that is open for longer (ms) is for staff to find out. */
const OPEN_MS = 3_600_000
const MAX_MAILED = 50

type CheckDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'carriers'>

/** Numbers of a carrier that only one side knows. */
export interface InventoryDifference {
  /** The carrier charges rent for them, or is about to, and no organization has them. */
  readonly ownerless: readonly string[]
  /** Organizations have them, and the carrier does not list them. */
  readonly missing: readonly string[]
}

/** Adds the daily comparison of the numbers with the lists of the carriers. */
export async function scheduleInventoryCheck(db: Db, now: number): Promise<void> {
  await addJobs(db, [{ id: KIND, kind: KIND, dueAt: now }], now)
}

export function inventoryCheckHandler(deps: CheckDeps): JobHandler {
  return {
    kind: KIND,
    concurrency: 1,
    async run() {
      for (const carrier of deps.carriers.of('live')) await checkInventory(deps, carrier)
      return async () => istMidnight(istDate(deps.clock.wall())) + DAY_MS + CHECK_HOUR * 3_600_000
    },
  }
}

/**
 * Compares the live numbers of a carrier with the list of its account, and looks for purchases whose outcome stays open.
 * Staff gets a mail about a difference, an open purchase, and a list that cannot be read. Nothing is changed: a wrong list
 * must release no number. Returns null without a list.
 */
export async function checkInventory(deps: CheckDeps, carrier: Carrier): Promise<InventoryDifference | null> {
  const { db, clock, log, carriers } = deps
  const { provider } = carrier
  // Our rows are read on both sides of the list: a purchase or a release meanwhile is no difference.
  const before = await ourNumbers(db, provider, clock.wall())
  const listed = await carriers.ask(carrier, LIST_MS, (signal) => carrier.listOwned(signal))
  const now = clock.wall()
  const difference = listed.ok
    ? differenceOf(before, await ourNumbers(db, provider, now), listed.value)
    : null
  const { ownerless, missing } = difference ?? { ownerless: [], missing: [] }
  if (!listed.ok) log.warn({ provider, reason: listed.reason }, 'number.inventory_unreadable')
  if (ownerless.length + missing.length > 0)
    log.error({ provider, ownerless: ownerless.length, missing: missing.length }, 'number.inventory_differs')
  const open = await openPurchases(db, provider, now - OPEN_MS)
  if (open.length > 0) log.error({ provider, open: open.length }, 'number.purchases_open')
  const parts = [
    part('The carrier charges for these numbers, or is about to, and no organization has them:', ownerless),
    part('Organizations have these numbers, and the carrier does not list them:', missing),
    part(
      'The carrier was asked to sell these numbers, and its list does not tell whether it did. The price stays held:',
      open,
    ),
    listed.ok || !listed.unreadable
      ? ''
      : `The list of the numbers of the account cannot be read, and the numbers were not compared: ${listed.reason}.`,
  ].filter((text) => text !== '')
  if (parts.length === 0) return difference
  await queueMailToStaff(db, now, {
    kind: 'notice',
    subject: `The numbers at ${carrier.label} need a check`,
    text: [
      ...parts,
      'Nothing was changed. Release the numbers that no organization has at the carrier, and ask the carrier about the others.',
    ].join('\n\n'),
  })
  return difference
}

function differenceOf(
  before: OurNumbers,
  after: OurNumbers,
  listed: readonly OwnedNumber[],
): InventoryDifference {
  const theirs = new Set(listed.map(({ e164 }) => e164))
  return {
    ownerless: [...theirs].filter((e164) => !before.known.has(e164) && !after.known.has(e164)).toSorted(),
    missing: [...after.active].filter((e164) => before.active.has(e164) && !theirs.has(e164)).toSorted(),
  }
}

/**
 * Returns the numbers that a carrier was asked to sell before `askedBefore` (Unix ms) and whose outcome is open, with their
 * ids. An order that waits for documents is none.
 */
async function openPurchases(db: Db, provider: string, askedBefore: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('numberPurchases')
    .innerJoin('numbers', 'numbers.id', 'numberPurchases.numberId')
    .select(['numbers.e164', 'numbers.id'])
    .where('numbers.provider', '=', provider)
    .where('numbers.environment', '=', 'live')
    .where('numbers.status', '=', 'pending')
    .where('numberPurchases.askedAt', '<=', askedBefore)
    .where('numberPurchases.failureCode', 'is', null)
    .orderBy('numbers.e164')
    .execute()
  return rows.map(({ e164, id }) => `${e164} (${id})`)
}

interface OurNumbers {
  /** Numbers that an organization can use. */
  readonly active: ReadonlySet<string>
  /** These, purchases in progress, and numbers whose release is on its way. */
  readonly known: ReadonlySet<string>
}

async function ourNumbers(db: Db, provider: string, now: number): Promise<OurNumbers> {
  const rows = await db
    .selectFrom('numbers')
    .select(['e164', 'status', 'releasedAt'])
    .where('environment', '=', 'live')
    .where('provider', '=', provider)
    .where('status', '<>', 'failed')
    .where((eb) => eb.or([eb('releasedAt', 'is', null), eb('releasedAt', '>', now - RELEASE_MS)]))
    .execute()
  const active = rows.filter(({ status, releasedAt }) => status === 'active' && releasedAt === null)
  return {
    active: new Set(active.map(({ e164 }) => e164)),
    known: new Set(rows.map(({ e164 }) => e164)),
  }
}

function part(title: string, numbers: readonly string[]): string {
  if (numbers.length === 0) return ''
  const rest = numbers.length - MAX_MAILED
  return [title, ...numbers.slice(0, MAX_MAILED), ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n')
}
