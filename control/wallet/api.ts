import { z } from 'zod'
import { audited } from '../api/audited.js'
import { csvOperation, listOperation, operation } from '../api/operation.js'
import { allPages } from '../api/pagination.js'
import { BILLING_ROLES } from '../api/scopes.js'
import { Timestamp, timestamp } from '../base/schemas.js'
import type { WalletRow } from '../db/tables/wallet.js'
import { CATEGORIES, emptyWallet, setThreshold } from './ledger.js'
import { agreedRate, listEntries, readWallet, sumByCategory } from './store.js'
import { ENTRY_COLUMNS, entryView, LedgerEntry, Wallet, walletView } from './view.js'

/** Balance that the test environment shows (paise). Nothing there costs money. */
const SIMULATED_PAISE = 1_000_000
const DAY_MS = 86_400_000
const PERIODS = { '7d': 7 * DAY_MS, '30d': 30 * DAY_MS, all: null } as const

export const readWalletOperation = operation({
  id: 'readWallet',
  method: 'get',
  path: '/v1/wallet',
  tag: 'Wallet and limits',
  summary: 'Get the wallet',
  description: 'The test environment shows a fixed simulated balance.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: Wallet,
  fails: [],
  run: async ({ actor, deps }) => {
    const { organizationId, environment } = actor
    const now = deps.clock.wall()
    const row =
      environment === 'test'
        ? { ...emptyWallet(organizationId, now), balancePaise: SIMULATED_PAISE }
        : await readWallet(deps.db, organizationId, now)
    return walletView(row, environment, await agreedRate(deps.db, organizationId))
  },
})

export const readWalletUsage = operation({
  id: 'readWalletUsage',
  method: 'get',
  path: '/v1/wallet/usage',
  tag: 'Wallet and limits',
  summary: 'Get what was spent and added in a period',
  description:
    'A reversal counts in the period and the category of the entry that it reverses. With `agent_id` only calls are counted.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    period: z.enum(['7d', '30d', 'all']).default('30d'),
    agent_id: z.string().max(40).optional(),
  }),
  status: 200,
  result: z.object({
    period: z.string(),
    from: Timestamp.nullable(),
    to: Timestamp,
    agentId: z.string().nullable(),
    totalSpentPaise: z.int(),
    addedPaise: z.int().meta({ description: 'Top-ups without what was refunded.' }),
    categories: z.array(z.object({ category: z.string(), spentPaise: z.int(), entries: z.int() })),
  }),
  fails: [],
  run: async ({ query, actor, deps }) => {
    const now = deps.clock.wall()
    const lasts = PERIODS[query.period]
    const from = lasts === null ? null : now - lasts
    const agentId = query.agent_id ?? null
    const totals =
      actor.environment === 'test'
        ? []
        : await sumByCategory(deps.reads, actor.organizationId, { from, agentId })
    const of = (category: string | null) => totals.find((total) => total.category === category)
    const categories = CATEGORIES.map((category) => ({
      category,
      spentPaise: 0 - (of(category)?.amountPaise ?? 0),
      entries: of(category)?.entries ?? 0,
    }))
    return {
      period: query.period,
      from: from === null ? null : timestamp(from),
      to: timestamp(now),
      agentId,
      totalSpentPaise: categories.reduce((sum, { spentPaise }) => sum + spentPaise, 0),
      addedPaise: of(null)?.amountPaise ?? 0,
      categories,
    }
  },
})

export const listLedger = listOperation({
  id: 'listLedger',
  path: '/v1/wallet/ledger',
  tag: 'Wallet and limits',
  summary: 'List the ledger',
  description: 'Newest first. The balance is the sum of all entries. The test environment has none.',
  audience: 'key',
  scope: 'read',
  result: LedgerEntry,
  fails: [],
  run: async ({ actor, deps, page }) => {
    if (actor.environment === 'test') return { items: [], next: null }
    const { items, next } = await listEntries(deps.reads, actor.organizationId, page)
    return { items: items.map(entryView), next }
  },
})

export const exportLedger = csvOperation({
  id: 'exportLedger',
  path: '/v1/wallet/ledger/export.csv',
  tag: 'Wallet and limits',
  summary: 'Download the ledger as CSV',
  description: 'The whole ledger, newest first. The test environment has no entries.',
  audience: 'key',
  scope: 'read',
  columns: ENTRY_COLUMNS,
  view: entryView,
  fileName: 'ledger.csv',
  fails: [],
  run: async ({ actor, deps }) =>
    allPages(async (page) => {
      if (actor.environment === 'test') return { items: [], next: null }
      return listEntries(deps.reads, actor.organizationId, page)
    }),
})

export const updateWalletSettings = operation({
  id: 'updateWalletSettings',
  method: 'patch',
  path: '/v1/wallet/settings',
  tag: 'Wallet and limits',
  summary: 'Set the low-balance threshold',
  description: 'The event `wallet.balance.low` is sent once when the balance falls below the threshold.',
  audience: 'session',
  roles: BILLING_ROLES,
  body: z.strictObject({ thresholdPaise: z.int().min(0).max(100_000_000) }),
  status: 200,
  result: Wallet,
  fails: [],
  run: ({ body, actor, deps, requestId }) =>
    audited({ actor, deps, requestId }, async (trx, record, now) => {
      const { organizationId } = actor
      const { before, after } = await setThreshold(trx, organizationId, body.thresholdPaise, now)
      const facts = ({ thresholdPaise }: WalletRow) => ({ thresholdPaise })
      await record('wallet.settings_updated', organizationId, { before: facts(before), after: facts(after) })
      return walletView(after, 'live', await agreedRate(trx, organizationId))
    }),
})

export const walletOperations = [
  readWalletOperation,
  readWalletUsage,
  listLedger,
  exportLedger,
  updateWalletSettings,
]
