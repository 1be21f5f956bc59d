import { NativeSelect, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../../api.js'
import { useFormat } from '../../i18n.js'
import { List, useList } from '../../parts/List.js'
import { Page } from '../../parts/Page.js'
import { Rows } from '../../parts/Rows.js'
import { State, useWord } from '../../parts/Word.js'
import { useSession } from '../../session.js'
import { Answers, Decide, type Decision } from './Decisions.js'

type Adjustment = Item<'listWalletAdjustments'>
const STATUSES = ['pending', 'approved', 'rejected', 'applied'] as const
type Status = (typeof STATUSES)[number]

/** Adjustments of wallets. Large ones wait here for a second member of staff. */
export function Adjustments() {
  const t = useTranslations('staff')
  const word = useWord()
  const { api, user } = useSession()
  const { money, time } = useFormat()
  const [status, setStatus] = useState<Status>('pending')
  const [decision, setDecision] = useState<Decision | null>(null)
  const adjustments = useList(['adjustments', status], (cursor) =>
    api.listWalletAdjustments({ query: { cursor, status } }),
  )
  const decide = (id: string, chosen: 'approved' | 'rejected') => (reason: string) =>
    api.decideWalletAdjustment({ id, body: { decision: chosen, reason } })
  const answer = ({ id, requestedBy }: Adjustment) => {
    const isOwn = requestedBy === user.id
    return (
      <>
        {isOwn && <Text size="xs">{t('ownAdjustment')}</Text>}
        <Answers
          choose={setDecision}
          decisions={[
            ...(isOwn ? [] : [{ title: t('approveAdjustment'), run: decide(id, 'approved') }]),
            { title: isOwn ? t('takeBack') : t('reject'), run: decide(id, 'rejected') },
          ]}
        />
      </>
    )
  }
  return (
    <Page title={t('adjustments')}>
      <NativeSelect
        maw={240}
        label={t('shown')}
        value={status}
        onChange={({ currentTarget }) =>
          setStatus(STATUSES.find((known) => known === currentTarget.value) ?? 'pending')
        }
        data={STATUSES.map((value) => ({ value, label: word(value) }))}
      />
      <List query={adjustments} empty={status === 'pending' ? t('noAdjustments') : t('noneOfThese')}>
        {(items) => (
          <Rows
            label={t('adjustments')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('created'), cell: ({ createdAt }) => time(createdAt) },
              {
                title: t('name'),
                cell: ({ organizationId, organizationName }) => (
                  <Link to="/staff/organizations/$id" params={{ id: organizationId }}>
                    {organizationName}
                  </Link>
                ),
              },
              {
                title: t('reason'),
                cell: ({ reference, reason, requestedByEmail }) => (
                  <>
                    {reason}
                    <Text size="xs">{reference}</Text>
                    <Text size="xs" className="once">
                      {t('askedBy', { email: requestedByEmail })}
                    </Text>
                  </>
                ),
              },
              { title: t('amount_'), align: 'right', cell: ({ amountPaise }) => money(amountPaise) },
              status === 'pending'
                ? { title: '', align: 'right', cell: answer }
                : {
                    title: t('decision'),
                    cell: (row) => (
                      <>
                        <State value={row.status} />
                        <Text size="xs">{row.decisionReason}</Text>
                        <Text size="xs">{row.decidedAt === null ? null : time(row.decidedAt)}</Text>
                      </>
                    ),
                  },
            ]}
          />
        )}
      </List>
      {decision !== null && <Decide decision={decision} close={() => setDecision(null)} />}
    </Page>
  )
}
