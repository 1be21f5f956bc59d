import { Button, Group, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../../i18n.js'
import { FormDialog } from '../../parts/Dialog.js'
import { useFields } from '../../parts/fields.js'
import { List, useAction, useList } from '../../parts/List.js'
import { Page } from '../../parts/Page.js'
import { Rows } from '../../parts/Rows.js'
import { useSession } from '../../session.js'

interface Decision {
  readonly title: string
  readonly run: (reason: string) => Promise<unknown>
}

function Decide({ decision, close }: { readonly decision: Decision; readonly close: () => void }) {
  const t = useTranslations('staff')
  const form = useFields({ reason: '' })
  const run = useAction(() => decision.run(form.values.reason), close)
  return (
    <FormDialog title={decision.title} close={close} action={run} submit={decision.title}>
      <TextInput label={t('reason')} required maxLength={500} data-autofocus {...form.text('reason')} />
    </FormDialog>
  )
}

/** Two answers to what waits for a decision. */
function Answers(props: {
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

/** Payments that the service could not settle by itself. */
export function PaymentExceptions() {
  const t = useTranslations('staff')
  const { api } = useSession()
  const { money, time } = useFormat()
  const [decision, setDecision] = useState<Decision | null>(null)
  const exceptions = useList(['payment-exceptions'], (cursor) =>
    api.listPaymentExceptions({ query: { cursor, resolved: 'false' } }),
  )
  return (
    <Page title={t('payments')}>
      <List query={exceptions} empty={t('noPayments')}>
        {(items) => (
          <Rows
            label={t('payments')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('created'), cell: ({ createdAt }) => time(createdAt) },
              { title: t('kind'), cell: ({ kind, subject }) => `${kind.replaceAll('_', ' ')} (${subject})` },
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
              {
                title: '',
                align: 'right',
                cell: ({ id }) => (
                  <Answers
                    choose={setDecision}
                    decisions={(['refund', 'dismiss'] as const).map((resolution) => ({
                      title: t(resolution),
                      run: (reason) => api.resolvePaymentException({ id, body: { resolution, reason } }),
                    }))}
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
