import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../../api.js'
import { useFormat } from '../../i18n.js'
import { FormDialog } from '../../parts/Dialog.js'
import { useFields } from '../../parts/fields.js'
import { List, useAction, useList } from '../../parts/List.js'
import { Page } from '../../parts/Page.js'
import { Rows } from '../../parts/Rows.js'
import { useSession } from '../../session.js'

/** A decision that needs a reason. */
export interface Decision {
  readonly title: string
  readonly run: (reason: string) => Promise<unknown>
}

/** Asks for the reason of a decision. */
export function Decide({ decision, close }: { readonly decision: Decision; readonly close: () => void }) {
  const t = useTranslations('staff')
  const form = useFields({ reason: '' })
  const run = useAction(() => decision.run(form.values.reason), close)
  return (
    <FormDialog title={decision.title} close={close} action={run} submit={decision.title}>
      <TextInput label={t('reason')} required maxLength={500} data-autofocus {...form.text('reason')} />
    </FormDialog>
  )
}

/** Buttons that approve or reject an entry that waits. */
export function Answers(props: {
  readonly decisions: readonly Decision[]
  readonly choose: (decision: Decision) => void
}) {
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      {props.decisions.map((decision) => (
        <Button key={decision.title} size="xs" variant="default" onClick={() => props.choose(decision)}>
          {decision.title}
        </Button>
      ))}
    </Group>
  )
}

type Exception = Item<'listPaymentExceptions'>
type Resolution = 'refund' | 'credit_note' | 'dismiss'

/** Returns what staff can do about an exception. The service refuses anything else. */
function resolutionsOf(kind: string): readonly Resolution[] {
  if (kind === 'amount_mismatch' || kind === 'second_payment') return ['refund', 'dismiss']
  return kind === 'dispute_lost' ? ['credit_note', 'dismiss'] : ['dismiss']
}

/** Names an exception and says what it means. One of a later release shows as it is. */
function useException(): (kind: string) => { readonly name: string; readonly text: string | null } {
  const t = useTranslations('exceptions')
  return (kind) => {
    const known = kind as Parameters<typeof t>[0]
    const text = `${kind}Text` as Parameters<typeof t>[0]
    return {
      name: t.has(known) ? t(known) : kind.replaceAll('_', ' '),
      text: t.has(text) ? t(text) : null,
    }
  }
}

/** Shows the facts about an exception: its ids and the words of the gateway. */
function ExceptionFacts({ exception }: { readonly exception: Exception }) {
  const { gateway, subject, topupId, paymentId, details } = exception
  const facts = [subject, topupId, paymentId === subject ? null : paymentId, gateway].filter(
    (fact) => fact !== null,
  )
  const said = Object.entries(details).map(
    ([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`,
  )
  return (
    <>
      <Text size="xs" className="once">
        {facts.join(' · ')}
      </Text>
      {said.length > 0 && <Text size="xs">{said.join(' · ')}</Text>}
    </>
  )
}

/** Payments that the service could not settle by itself, and the decisions about them. */
export function PaymentExceptions() {
  const t = useTranslations('staff')
  const { api } = useSession()
  const { money, time } = useFormat()
  const exceptionOf = useException()
  const [resolved, setResolved] = useState<'false' | 'true'>('false')
  const [decision, setDecision] = useState<Decision | null>(null)
  const exceptions = useList(['payment-exceptions', resolved], (cursor) =>
    api.listPaymentExceptions({ query: { cursor, resolved } }),
  )
  const answer = ({ id, kind }: Exception) => (
    <Answers
      choose={setDecision}
      decisions={resolutionsOf(kind).map((resolution) => ({
        title: t(resolution),
        run: (reason) => api.resolvePaymentException({ id, body: { resolution, reason } }),
      }))}
    />
  )
  const decided = ({ resolution, reason, resolvedAt }: Exception) =>
    resolution !== null && (
      <>
        {t.has(resolution as Resolution) ? t(resolution as Resolution) : resolution}
        <Text size="xs">{reason}</Text>
        <Text size="xs">{resolvedAt === null ? null : time(resolvedAt)}</Text>
      </>
    )
  return (
    <Page title={t('payments')}>
      <NativeSelect
        maw={240}
        label={t('shown')}
        value={resolved}
        onChange={({ currentTarget }) => setResolved(currentTarget.value === 'true' ? 'true' : 'false')}
        data={[
          { value: 'false', label: t('open') },
          { value: 'true', label: t('resolved') },
        ]}
      />
      <List query={exceptions} empty={resolved === 'true' ? t('noneResolved') : t('noPayments')}>
        {(items) => (
          <Rows
            label={t('payments')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('created'), cell: ({ createdAt }) => time(createdAt) },
              {
                title: t('kind'),
                cell: (exception) => (
                  <>
                    {exceptionOf(exception.kind).name}
                    <Text size="xs">{exceptionOf(exception.kind).text}</Text>
                    <ExceptionFacts exception={exception} />
                  </>
                ),
              },
              {
                title: t('name'),
                cell: ({ organizationId }) =>
                  organizationId !== null && (
                    <Link to="/staff/organizations/$id" params={{ id: organizationId }}>
                      {organizationId}
                    </Link>
                  ),
              },
              {
                title: t('amount_'),
                align: 'right',
                cell: ({ amountPaise }) => (amountPaise === null ? '–' : money(amountPaise)),
              },
              resolved === 'true'
                ? { title: t('decision'), cell: decided }
                : { title: '', align: 'right', cell: answer },
            ]}
          />
        )}
      </List>
      {decision !== null && <Decide decision={decision} close={() => setDecision(null)} />}
    </Page>
  )
}

/** Organizations that ask for SIP trunks. */
export function TrunkRequests() {
  const t = useTranslations('staff')
  const { api } = useSession()
  const { time } = useFormat()
  const [decision, setDecision] = useState<Decision | null>(null)
  const requests = useList(['sip-access'], (cursor) =>
    api.listSipAccessRequests({ query: { cursor, status: 'pending' } }),
  )
  return (
    <Page title={t('trunks')}>
      <List query={requests} empty={t('noRequests')}>
        {(items) => (
          <Rows
            label={t('trunks')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('asked'), cell: ({ requestedAt }) => time(requestedAt) },
              {
                title: t('name'),
                cell: ({ organizationId }) => (
                  <Link to="/staff/organizations/$id" params={{ id: organizationId }}>
                    {organizationId}
                  </Link>
                ),
              },
              { title: t('message'), cell: ({ message }) => message },
              {
                title: '',
                align: 'right',
                cell: ({ id }) => (
                  <Answers
                    choose={setDecision}
                    decisions={[
                      {
                        title: t('grant'),
                        run: (reason) =>
                          api.decideSipAccessRequest({ id, body: { decision: 'approved', reason } }),
                      },
                      {
                        title: t('reject'),
                        run: (reason) =>
                          api.decideSipAccessRequest({ id, body: { decision: 'rejected', reason } }),
                      },
                    ]}
                  />
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
