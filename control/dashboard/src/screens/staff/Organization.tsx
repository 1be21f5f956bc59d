import {
  Alert,
  Button,
  Card,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../../api.js'
import { useFormat } from '../../i18n.js'
import { FormDialog } from '../../parts/Dialog.js'
import { useFields } from '../../parts/fields.js'
import { List, useAction, useList } from '../../parts/List.js'
import { Loaded, Page } from '../../parts/Page.js'
import { Facts, Rows } from '../../parts/Rows.js'
import { useToast } from '../../parts/toast.js'
import { State, useWord } from '../../parts/Word.js'
import { useKey, useSession } from '../../session.js'

type View = Result<'readOrganizationAsStaff'>

/** Actions of staff on an organization. Each needs a reason, which the audit log keeps. */
const DEEDS = ['approve', 'reject', 'kill', 'unkill', 'hold', 'unhold', 'adjust', 'limits'] as const
type Deed = (typeof DEEDS)[number]

/** One organization as its staff sees it. A banner says whose it is. */
export function Organization() {
  const t = useTranslations('staff')
  const { id } = useParams({ from: '/staff/organizations/$id' })
  const { api } = useSession()
  const key = useKey()
  const [deed, setDeed] = useState<Deed | null>(null)
  const organization = useQuery({
    queryKey: key('organization', id),
    queryFn: () => api.readOrganizationAsStaff({ id }),
  })
  return (
    <Page title={organization.data?.name ?? ''} actions={<Link to="/staff">{t('back')}</Link>}>
      <Loaded query={organization} height={400}>
        {(data) => (
          <>
            <Alert color="grape">{t('acting', { name: data.name })}</Alert>
            <Buttons organization={data} choose={setDeed} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Standing organization={data} />
              <Submission organization={data} />
            </SimpleGrid>
            <Documents id={id} />
            {deed === 'limits' && <Limits organization={data} close={() => setDeed(null)} />}
            {deed !== null && deed !== 'limits' && (
              <Reasoned organization={data} deed={deed} close={() => setDeed(null)} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Buttons(props: { readonly organization: View; readonly choose: (deed: Deed) => void }) {
  const t = useTranslations('staff')
  const { organization, choose } = props
  const { verification, enforcement, wallet } = organization
  const shown: readonly Deed[] = [
    ...(verification.status === 'submitted' ? (['approve', 'reject'] as const) : []),
    'limits',
    'adjust',
    wallet.onHold ? 'unhold' : 'hold',
    enforcement.blocked ? 'unkill' : 'kill',
  ]
  return (
    <Group gap="sm">
      {shown.map((deed) => (
        <Button
          key={deed}
          variant={deed === 'kill' ? 'filled' : 'default'}
          {...(deed === 'kill' ? { color: 'red.9' } : {})}
          onClick={() => choose(deed)}
        >
          {t(deed)}
        </Button>
      ))}
    </Group>
  )
}

function Standing({ organization }: { readonly organization: View }) {
  const t = useTranslations('staff')
  const { money, count } = useFormat()
  const { verification, enforcement, limits, wallet } = organization
  return (
    <Card withBorder>
      <Facts
        facts={[
          [t('state'), <State key="state" value={verification.status} />],
          [t('blocked'), enforcement.blocked ? <State key="blocked" value="blocked" /> : '–'],
          [t('wallet'), money(wallet.balancePaise)],
          [t('rate'), money(organization.ratePaisePerMinute)],
          [t('requests'), count(limits.requestsPerMinute.live)],
          [t('calls'), count(limits.agentCalls.live)],
          [t('byo'), count(limits.byoCalls.live)],
          [t('trunking'), organization.trunkingEnabled ? '✓' : '–'],
        ]}
      />
    </Card>
  )
}

function Submission({ organization: { submission } }: { readonly organization: View }) {
  const t = useTranslations('staff')
  const tSettings = useTranslations('settings')
  const word = useWord()
  if (submission === null) return null
  const { legalName, entityType, gstin, pan, registeredAddress, authorisedPerson, documents } = submission
  const { address, city, pincode, stateCode } = registeredAddress
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('submission')}
      </Title>
      <Facts
        facts={[
          [tSettings('legal'), legalName],
          [tSettings('entity'), word(entityType)],
          [tSettings('gstin'), gstin ?? '–'],
          [tSettings('pan'), pan ?? '–'],
          [tSettings('address'), [address, city, pincode, stateCode].join(', ')],
          [
            tSettings('person'),
            [authorisedPerson.name, authorisedPerson.email, authorisedPerson.phone].join(', '),
          ],
          [tSettings('documents'), documents.length],
        ]}
      />
    </Card>
  )
}

const DOCUMENTS = ['invoice', 'credit_note', 'receipt_voucher', 'refund_voucher'] as const

/** The tax documents of the organization: staff sees which refund got which credit note. */
function Documents({ id }: { readonly id: string }) {
  const t = useTranslations('staff')
  const tInvoices = useTranslations('invoices')
  const { api } = useSession()
  const { money, day } = useFormat()
  const word = useWord()
  const [kind, setKind] = useState<(typeof DOCUMENTS)[number] | ''>('')
  const documents = useList(['documents', id, kind], (cursor) =>
    api.listInvoicesAsStaff({ id, query: { cursor, ...(kind === '' ? {} : { kind }) } }),
  )
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('documents')}
      </Title>
      <NativeSelect
        maw={240}
        label={tInvoices('kind')}
        value={kind}
        onChange={({ currentTarget }) =>
          setKind(DOCUMENTS.find((known) => known === currentTarget.value) ?? '')
        }
        data={[
          { value: '', label: t('allDocuments') },
          ...DOCUMENTS.map((value) => ({ value, label: word(value) })),
        ]}
      />
      <List query={documents} empty={t('noDocuments')}>
        {(items) => (
          <Rows
            label={t('documents')}
            rows={items}
            idOf={(document) => document.id}
            columns={[
              {
                title: tInvoices('number'),
                cell: ({ number, specimen }) => (
                  <>
                    <span className="once">{number}</span>
                    {specimen && <Text size="xs">{tInvoices('specimen')}</Text>}
                  </>
                ),
              },
              { title: tInvoices('kind'), cell: (document) => word(document.kind) },
              { title: tInvoices('issued'), cell: ({ issuedAt }) => day(issuedAt) },
              {
                title: t('topup'),
                cell: ({ topupId, originalInvoiceId }) => (
                  <>
                    <span className="once">{topupId}</span>
                    {originalInvoiceId !== null && (
                      <Text size="xs">{t('corrects', { id: originalInvoiceId })}</Text>
                    )}
                  </>
                ),
              },
              {
                title: tInvoices('tax'),
                align: 'right',
                cell: ({ cgstPaise, sgstPaise, utgstPaise, igstPaise }) =>
                  money(cgstPaise + sgstPaise + utgstPaise + igstPaise),
              },
              { title: tInvoices('total'), align: 'right', cell: ({ totalPaise }) => money(totalPaise) },
            ]}
          />
        )}
      </List>
    </Stack>
  )
}

interface DeedProps {
  readonly organization: View
  readonly close: () => void
}

function Reasoned({
  organization: { id },
  deed,
  close,
}: DeedProps & { readonly deed: Exclude<Deed, 'limits'> }) {
  const t = useTranslations('staff')
  const { api } = useSession()
  const toast = useToast()
  const form = useFields({ reason: '', rupees: 0, reference: '' })
  const { reason, rupees, reference } = form.values
  const runs: Readonly<Record<typeof deed, () => Promise<unknown>>> = {
    approve: () => api.decideOrganizationVerification({ id, body: { decision: 'verified', reason } }),
    reject: () => api.decideOrganizationVerification({ id, body: { decision: 'rejected', reason } }),
    kill: () => api.setKillSwitch({ id, body: { enforcement: true, reason } }),
    unkill: () => api.setKillSwitch({ id, body: { enforcement: false, reason } }),
    hold: () => api.setWalletHold({ id, body: { onHold: true, reason } }),
    unhold: () => api.setWalletHold({ id, body: { onHold: false, reason } }),
    adjust: async () => {
      const body = { amountPaise: Math.round(rupees * 100), reference, reason }
      const { adjustment } = await api.adjustWallet({ id, body })
      if (adjustment.status === 'pending') toast(t('waits'))
    },
  }
  const run = useAction(() => runs[deed](), close)
  return (
    <FormDialog title={t(deed)} close={close} action={run} submit={t(deed)}>
      {(deed === 'kill' || deed === 'unkill') && <p>{t(`${deed}Text`)}</p>}
      {deed === 'adjust' && (
        <>
          <NumberInput
            label={t('amount')}
            prefix="₹"
            decimalScale={2}
            thousandsGroupStyle="lakh"
            thousandSeparator=","
            {...form.number('rupees')}
          />
          <TextInput label={t('reference')} required maxLength={100} {...form.text('reference')} />
        </>
      )}
      <TextInput label={t('reason')} required maxLength={500} data-autofocus {...form.text('reason')} />
    </FormDialog>
  )
}

function Limits({ organization, close }: DeedProps) {
  const t = useTranslations('staff')
  const { api } = useSession()
  const { id, limits, ratePaisePerMinute, trunkingEnabled } = organization
  const form = useFields({
    requests: limits.requestsPerMinute.live,
    calls: limits.agentCalls.live,
    byo: limits.byoCalls.live,
    rate: ratePaisePerMinute / 100,
    trunking: trunkingEnabled,
    reason: '',
  })
  const { requests, calls, byo, rate, trunking, reason } = form.values
  const save = useAction(
    () =>
      api.setOrganizationLimits({
        id,
        body: {
          requestsPerMinute: { live: requests },
          agentCalls: { live: calls },
          byoCalls: { live: byo },
          ratePaisePerMinute: Math.round(rate * 100),
          trunkingEnabled: trunking,
          reason,
        },
      }),
    close,
  )
  return (
    <FormDialog title={t('limits')} close={close} action={save} submit={t('limits')}>
      <Stack gap="sm">
        <NumberInput label={t('requests')} min={0} {...form.number('requests')} />
        <NumberInput label={t('calls')} min={0} {...form.number('calls')} />
        <NumberInput label={t('byo')} min={0} {...form.number('byo')} />
        <NumberInput label={t('rate')} min={0} decimalScale={2} {...form.number('rate')} />
        <Checkbox label={t('trunking')} {...form.box('trunking')} />
        <TextInput label={t('reason')} required maxLength={500} {...form.text('reason')} />
      </Stack>
    </FormDialog>
  )
}
