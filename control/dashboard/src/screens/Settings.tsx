import {
  Card,
  Checkbox,
  NativeSelect,
  NumberInput,
  SimpleGrid,
  Stack,
  Tabs,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import type { UpdateOrganizationBody } from '../../../../clients/typescript/generated/types.js'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Form } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { useNames } from '../parts/lookups.js'
import { Loaded, Page } from '../parts/Page.js'
import { PersonalData } from '../parts/PersonalData.js'
import { Rows } from '../parts/Rows.js'
import { Secrets } from '../parts/Secrets.js'
import { StateSelect } from '../parts/StateSelect.js'
import { useToast } from '../parts/toast.js'
import { Verification } from '../parts/Verification.js'
import { shortIds, useThings, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type Organization = Result<'readOrganization'>

const TABS = ['organization', 'verification', 'secrets', 'data', 'audit'] as const

/** Shows the settings of the whole organization. The open tab is part of the address. */
export function Settings() {
  const t = useTranslations('settings')
  const { api, canManage } = useSession()
  const key = useKey()
  const { tab = 'organization' } = useSearch({ from: '/$environment/settings' })
  const navigate = useNavigate({ from: '/$environment/settings' })
  const organization = useQuery({ queryKey: key('organization'), queryFn: () => api.readOrganization() })
  const tabs = TABS.filter((name) => name !== 'audit' || canManage)
  return (
    <Page title={t('title')}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => void navigate({ search: { tab: value ?? 'organization' }, replace: true })}
      >
        <Tabs.List>
          {tabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(name)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="organization" pt="md">
          <Loaded query={organization} height={400}>
            {(data) => <Profile organization={data} />}
          </Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="verification" pt="md">
          <Verification />
        </Tabs.Panel>
        <Tabs.Panel value="secrets" pt="md">
          <Secrets />
        </Tabs.Panel>
        <Tabs.Panel value="data" pt="md">
          <PersonalData />
        </Tabs.Panel>
        <Tabs.Panel value="audit" pt="md">
          <AuditLog />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

const MONITORING = ['off', 'listen', 'listen_and_takeover'] as const
type Monitoring = (typeof MONITORING)[number]
const MODES = ['off', 'warn', 'block'] as const
const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
type Purpose = (typeof PURPOSES)[number]
/** Calling hours that the law permits, in minutes of the day. */
const WIDEST = { startMinute: 9 * 60, endMinute: 21 * 60 }

const clockOf = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
const minuteOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

function Profile({ organization }: { readonly organization: Organization }) {
  const t = useTranslations('settings')
  const tCommon = useTranslations('common')
  const tSecurity = useTranslations('security')
  const { api, canManage } = useSession()
  const toast = useToast()
  const word = useWord()
  const { billing } = organization
  const hours = organization.windowNarrowing ?? WIDEST
  const form = useFields({
    name: organization.name,
    legal: billing.name ?? '',
    address: billing.address ?? '',
    city: billing.city ?? '',
    pincode: billing.pincode ?? '',
    stateCode: billing.stateCode ?? '',
    gstin: billing.gstin ?? '',
    sez: billing.sez,
    peId: organization.peId ?? '',
    usualPurpose: (organization.senderClassification ?? '') as string,
    robocallMode: organization.robocallMode as string,
    from: clockOf(hours.startMinute),
    to: clockOf(hours.endMinute),
    share: organization.campaignSharePercent,
    monitoringTest: organization.monitoring.test as string,
    monitoringLive: organization.monitoring.live as string,
    developersMonitor: organization.monitoring.developers,
    requireSecondFactor: organization.requireSecondFactor,
  })
  const { values } = form
  const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())
  const narrowing = { startMinute: minuteOf(values.from), endMinute: minuteOf(values.to) }
  const widest = narrowing.startMinute === WIDEST.startMinute && narrowing.endMinute === WIDEST.endMinute
  const body: UpdateOrganizationBody = {
    name: values.name,
    billing: {
      name: orNull(values.legal),
      address: orNull(values.address),
      city: orNull(values.city),
      pincode: orNull(values.pincode),
      stateCode: orNull(values.stateCode),
      gstin: orNull(values.gstin),
      sez: values.sez,
    },
    peId: orNull(values.peId),
    robocallMode: values.robocallMode as UpdateOrganizationBody['robocallMode'],
    windowNarrowing: widest ? null : narrowing,
    campaignSharePercent: values.share,
    monitoring: {
      test: values.monitoringTest as Monitoring,
      live: values.monitoringLive as Monitoring,
      developers: values.developersMonitor,
    },
    requireSecondFactor: values.requireSecondFactor,
  }
  const save = useAction(
    async () => {
      const { usualPurpose } = values
      if (usualPurpose !== '' && usualPurpose !== organization.senderClassification) {
        await api.setSenderClassification({ body: { senderClassification: usualPurpose as Purpose } })
      }
      await api.updateOrganization({ body })
    },
    () => toast(tCommon('saved')),
  )
  return (
    <Form action={save} submit={tCommon('save')} disabled={!canManage} sticky>
      {!canManage && <Text size="sm">{tCommon('onlyAdmins')}</Text>}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <div>
          <Card withBorder>
            <Stack gap="sm">
              <TextInput label={t('name')} required maxLength={80} {...form.text('name')} />
              <Title order={2} size="h4">
                {t('billing')}
              </Title>
              <TextInput label={t('legal')} {...form.text('legal')} />
              <TextInput label={t('address')} {...form.text('address')} />
              <TextInput label={t('city')} {...form.text('city')} />
              <TextInput
                label={t('pincode')}
                inputMode="numeric"
                pattern="[1-9][0-9]{5}"
                {...form.text('pincode')}
              />
              <StateSelect label={t('state')} {...form.text('stateCode')} />
              <TextInput label={t('gstin')} maxLength={15} {...form.text('gstin')} />
              <Checkbox label={t('sez')} {...form.box('sez')} />
            </Stack>
          </Card>
        </div>
        <Stack>
          <Card withBorder>
            <Stack gap="sm">
              <Title order={2} size="h4">
                {t('calling')}
              </Title>
              <NativeSelect
                label={t('usualPurpose')}
                description={t('usualPurposeHint')}
                data={[
                  // It can be changed, and never taken back.
                  ...(organization.senderClassification === null ? [{ value: '', label: '–' }] : []),
                  ...PURPOSES.map((value) => ({ value, label: word(value) })),
                ]}
                {...form.text('usualPurpose')}
              />
              <Text size="sm">{t('hoursHint')}</Text>
              <TextInput label={`${t('from')} (IST)`} type="time" required {...form.text('from')} />
              <TextInput label={`${t('to')} (IST)`} type="time" required {...form.text('to')} />
              <NumberInput label={t('share')} min={0} max={100} {...form.number('share')} />
              <TextInput label={t('peId')} {...form.text('peId')} />
              <NativeSelect
                label={t('robocall')}
                data={MODES.map((value) => ({ value, label: t(value) }))}
                {...form.text('robocallMode')}
              />
            </Stack>
          </Card>
          <Card withBorder>
            <Stack gap="sm">
              <Title order={2} size="h4">
                {t('monitoring')}
              </Title>
              <Text size="sm">{t('monitoringHint')}</Text>
              {(['monitoringLive', 'monitoringTest'] as const).map((name) => (
                <NativeSelect
                  key={name}
                  label={t(name)}
                  data={MONITORING.map((value) => ({ value, label: t(`may.${value}`) }))}
                  {...form.text(name)}
                />
              ))}
              <Checkbox label={t('developersMonitor')} {...form.box('developersMonitor')} />
            </Stack>
          </Card>
          <Card withBorder>
            <Stack gap="sm">
              <Title order={2} size="h4">
                {tSecurity('title')}
              </Title>
              <Checkbox
                label={tSecurity('require')}
                description={tSecurity('requireHint')}
                {...form.box('requireSecondFactor')}
              />
            </Stack>
          </Card>
        </Stack>
      </SimpleGrid>
    </Form>
  )
}

/** The name or the kind of a thing, and the end of its id. */
function Named(props: {
  readonly type: string
  readonly id: string | null
  readonly name?: string | undefined
}) {
  const { thing } = useThings()
  const { type, id, name } = props
  return (
    <>
      {name ?? thing(type)}
      {id !== null && (
        <Text size="xs" c="dimmed" title={id}>
          {name === undefined ? shortIds(id) : thing(type)}
        </Text>
      )}
    </>
  )
}

/** Lists the changes with their authors and reasons. */
function AuditLog() {
  const t = useTranslations('audit')
  const { api } = useSession()
  const { time } = useFormat()
  const { action: deed } = useThings()
  const names = useNames()
  const log = useList(['audit'], (cursor) => api.listAuditLog({ query: { cursor } }))
  return (
    <List query={log} empty={t('empty')}>
      {(items) => (
        <Rows
          label={t('what')}
          rows={items}
          idOf={({ id }) => id}
          columns={[
            { title: t('when'), cell: ({ createdAt }) => <span className="once">{time(createdAt)}</span> },
            { title: t('what'), cell: ({ action }) => deed(action) },
            { title: t('who'), cell: ({ actor }) => <Named {...actor} name={names.get(actor.id)} /> },
            {
              title: t('subject'),
              cell: ({ subject }) => <Named {...subject} name={names.get(subject.id)} />,
            },
            { title: t('reason'), cell: ({ reason }) => reason },
          ]}
        />
      )}
    </List>
  )
}
