import {
  Alert,
  Button,
  Card,
  FileButton,
  Group,
  NativeSelect,
  Progress,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { clockOf, type Rules, RulesInput, rulesBody, WEEKDAYS } from '../parts/CampaignRules.js'
import { Confirm, FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { RefusedRows } from '../parts/RefusedRows.js'
import { Facts, Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type CampaignView = Result<'readCampaign'>

/** One campaign: its list, what its check says, its rules, and its progress while it runs. */
export function Campaign() {
  const t = useTranslations('campaigns')
  const { id } = useParams({ from: '/$environment/campaigns/$id' })
  const { api, environment } = useSession()
  const key = useKey()
  const campaign = useQuery({
    queryKey: key('campaign', id),
    queryFn: () => api.readCampaign({ id }),
  })
  return (
    <Page
      title={campaign.data?.name ?? t('campaign')}
      actions={
        <Link to="/$environment/campaigns" params={{ environment }}>
          {t('back')}
        </Link>
      }
    >
      <Loaded query={campaign} height={400}>
        {(data) => (
          <>
            <Actions campaign={data} />
            <Standing campaign={data} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Stack>
                <Outcomes campaign={data} />
                <Preflight campaign={data} />
              </Stack>
              <Stack>
                <RulesCard campaign={data} />
              </Stack>
            </SimpleGrid>
            <Recipients campaign={data} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** The steps that the state of the campaign allows. Pause stands at the same place as launch. */
function Actions({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const [confirming, setConfirming] = useState<'launch' | 'stop' | null>(null)
  const { id, status, progress } = campaign
  const step = useMutation({
    mutationFn: async (run: () => Promise<unknown>) => {
      await run()
    },
    onSuccess: () => setConfirming(null),
    onSettled: () => queries.invalidateQueries({ queryKey: key('campaign', id) }),
  })
  const upload = useMutation({
    mutationFn: (file: File) => api.importRecipients({ id, body: file, contentType: 'text/csv' }),
    onSettled: () => queries.invalidateQueries({ queryKey: key('campaign', id) }),
  })
  if (!canWrite) return null
  const button = (label: string, run: () => Promise<unknown>, variant: 'filled' | 'default' = 'default') => (
    <Button variant={variant} loading={step.isPending} onClick={() => step.mutate(run)}>
      {label}
    </Button>
  )
  const launch = () => api.launchCampaign({ id, body: {} })
  return (
    <Stack gap="sm">
      <Group gap="sm">
        {(status === 'draft' || status === 'paused') && (
          <FileButton onChange={(file) => file !== null && upload.mutate(file)} accept="text/csv,.csv">
            {(props) => (
              <Button variant="default" loading={upload.isPending} {...props}>
                {t('upload')}
              </Button>
            )}
          </FileButton>
        )}
        {status === 'draft' && progress.total > 0 && button(t('check'), () => api.preflightCampaign({ id }))}
        {status === 'draft' &&
          campaign.preflight !== null &&
          (environment === 'test' ? (
            button(t('launch'), launch, 'filled')
          ) : (
            <Button onClick={() => setConfirming('launch')}>{t('launch')}</Button>
          ))}
        {(status === 'running' || status === 'scheduled') &&
          button(t('pause'), () => api.pauseCampaign({ id }), 'filled')}
        {status === 'paused' && button(t('resume'), () => api.resumeCampaign({ id }), 'filled')}
        {['running', 'scheduled', 'paused'].includes(status) && (
          <Button variant="default" onClick={() => setConfirming('stop')}>
            {t('stop')}
          </Button>
        )}
        <Link to="/$environment/calls" params={{ environment }} search={{ campaignId: id }}>
          {t('calls')}
        </Link>
      </Group>
      {status === 'draft' && <Text size="sm">{t('uploadHint')}</Text>}
      {step.error !== null && confirming === null && <Problem error={step.error} />}
      {upload.error !== null && <Problem error={upload.error} />}
      {upload.data !== undefined && <Imported result={upload.data} />}
      {confirming === 'launch' && (
        <Confirm
          title={t('launchTitle', { name: campaign.name })}
          text={<LaunchText campaign={campaign} />}
          label={t('launch')}
          action={{ ...step, mutate: () => step.mutate(launch) }}
          close={() => setConfirming(null)}
        />
      )}
      {confirming === 'stop' && (
        <Confirm
          title={t('stopTitle', { name: campaign.name })}
          text={t('stopText')}
          label={t('stop')}
          action={{ ...step, mutate: () => step.mutate(() => api.stopCampaign({ id })) }}
          close={() => setConfirming(null)}
        />
      )}
    </Stack>
  )
}

/** Describes a launch with real calls: the people, the number, the costs. */
function LaunchText({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { money } = useFormat()
  const { preflight, number } = campaign
  if (preflight === null) return null
  const { callable, estimatedCostPaise, walletBalancePaise } = preflight
  return (
    <Stack gap="xs">
      <Text>{t('launchText', { callable, number: number.e164 ?? '–' })}</Text>
      <Text size="sm">
        {t('cost', { low: money(estimatedCostPaise.low), high: money(estimatedCostPaise.high) })}
      </Text>
      <Text size="sm">
        {t('wallet', { balance: money(walletBalancePaise), floor: money(campaign.autoPauseBelowPaise) })}
      </Text>
    </Stack>
  )
}

/** Says how many rows were taken, and why others were not. */
function Imported({ result }: { readonly result: Result<'importRecipients'> }) {
  const t = useTranslations('campaigns')
  const { imported, rejected, rejectedCount } = result
  return (
    <RefusedRows
      title={t('imported', { imported, rejected: rejectedCount })}
      rows={rejected.map(({ index, line, ...row }) => ({ line: line ?? index, ...row }))}
    />
  )
}

function Standing({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { money, ist, count } = useFormat()
  const word = useWord()
  const { progress, status, pausedReason, failureReason, resumesAt } = campaign
  const { total, settled, dialed, connected, excluded, spentPaise, lateAgentSound } = progress
  const percent = total === 0 ? 0 : Math.round((100 * settled) / total)
  const slot = ['running', 'scheduled'].includes(status) ? nextSlot(campaign, Date.now()) : null
  return (
    <Stack gap="xs">
      <Group>
        <State value={status} />
        {pausedReason !== null && <Text size="sm">{word(pausedReason)}</Text>}
        {failureReason !== null && <Text size="sm">{word(failureReason)}</Text>}
      </Group>
      <Progress value={percent} size="lg" aria-label={t('settled')} />
      <Text>{t('progress', { settled, total, connected, excluded, spent: money(spentPaise) })}</Text>
      {dialed > 0 && (
        <Text size="sm">
          {t('rate', {
            dialed: count(dialed),
            share: `${Math.round((100 * connected) / dialed)} %`,
            pace: campaign.pacing.callsPerMinute,
          })}
        </Text>
      )}
      {slot !== null && (
        <Text size="sm">
          {slot === 'now' ? t('slotNow') : t('slot', { time: ist(new Date(slot).toISOString()) })}
        </Text>
      )}
      {resumesAt !== null && <Text size="sm">{t('resumes', { time: ist(resumesAt) })}</Text>}
      {lateAgentSound > 0 && <Alert color="orange">{t('late', { count: lateAgentSound })}</Alert>}
    </Stack>
  )
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** India is 5:30 hours ahead of UTC all year. */
const IST_MS = 330 * MINUTE_MS

/** Returns when the rules of the campaign next allow a call (Unix ms), or `now`. Null if they never do again. */
function nextSlot({ schedule }: CampaignView, now: number): number | 'now' | null {
  const { startsAt, endsAt, weekdays, windowStartMinute, windowEndMinute } = schedule
  const from = Math.max(now, startsAt === null ? now : Date.parse(startsAt))
  const midnight = Math.floor((from + IST_MS) / DAY_MS) * DAY_MS - IST_MS
  for (let day = 0; day <= 7; day++) {
    const begins = midnight + day * DAY_MS
    // Day 0 of the Unix clock was a Thursday. Monday is bit 0.
    const weekday = (Math.floor((begins + IST_MS) / DAY_MS) + 3) % 7
    if ((weekdays & (1 << weekday)) === 0) continue
    const at = Math.max(from, begins + windowStartMinute * MINUTE_MS)
    if (at >= begins + windowEndMinute * MINUTE_MS) continue
    if (endsAt !== null && at >= Date.parse(endsAt)) return null
    return at === now ? 'now' : at
  }
  return null
}

/** The order in which people are sorted out. */
const SIEVE = [
  ...(['invalid_number', 'suppressed', 'dnd_register', 'missing_consent'] as const),
  ...(['frequency_cap', 'outside_window', 'missing_variables'] as const),
] as const

/** Shows the check before the launch: whom the campaign may call, what it costs, when it ends. */
function Preflight({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const tOverview = useTranslations('overview')
  const { environment } = useSession()
  const { money, ist, time } = useFormat()
  const word = useWord()
  const { preflight } = campaign
  if (preflight === null) return null
  const { callable, total, excluded, excludedE164s, checks, computedAt } = preflight
  const { estimatedCostPaise, estimatedFinish, walletBalancePaise } = preflight
  const reasons = [...new Set([...SIEVE, ...Object.keys(excluded)])].filter(
    (name) => (excluded[name] ?? 0) > 0,
  )
  let left = total
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('preflight')}
      </Title>
      <Text size="xs" c="dimmed">
        {t('computed', { time: time(computedAt) })}
      </Text>
      <ol className="funnel">
        <FunnelStep label={t('inList')} left={total} total={total} />
        {reasons.map((reason) => {
          const out = excluded[reason] ?? 0
          left -= out
          return (
            <FunnelStep
              key={reason}
              label={t('without', { count: out, reason: word(reason) })}
              left={left}
              total={total}
              numbers={excludedE164s[reason] ?? []}
            />
          )
        })}
      </ol>
      <Text fw={700}>{t('callable', { callable, total })}</Text>
      <Text size="sm">
        {t('cost', { low: money(estimatedCostPaise.low), high: money(estimatedCostPaise.high) })}
      </Text>
      <Text size="sm">
        {environment === 'test'
          ? tOverview('testSpent')
          : t('wallet', { balance: money(walletBalancePaise), floor: money(campaign.autoPauseBelowPaise) })}
      </Text>
      <Text size="sm">
        {estimatedFinish.likely === null ? t('noFinish') : t('finish', { time: ist(estimatedFinish.likely) })}
      </Text>
      {estimatedFinish.low !== null && estimatedFinish.high !== null && (
        <Text size="sm" c="dimmed">
          {t('finishRange', { low: ist(estimatedFinish.low), high: ist(estimatedFinish.high) })}
        </Text>
      )}
      <Stack gap="xs" mt="sm">
        {checks
          .filter(({ outcome }) => outcome !== 'pass')
          .map(({ type, outcome, reason }) => (
            <Group gap="xs" key={type} wrap="nowrap" align="flex-start">
              <State value={outcome} />
              <Text size="sm">{t('finding', { check: word(type), reason: word(reason) })}</Text>
            </Group>
          ))}
      </Stack>
    </Card>
  )
}

/** People who are left after a check, and the numbers that it sorted out. */
function FunnelStep(props: {
  readonly label: string
  readonly left: number
  readonly total: number
  readonly numbers?: readonly string[]
}) {
  const t = useTranslations('campaigns')
  const { environment } = useSession()
  const { count } = useFormat()
  const { label, left, total, numbers = [] } = props
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <Text size="sm">{label}</Text>
        <Text size="sm" fw={600}>
          {count(left)}
        </Text>
      </Group>
      <Progress value={total === 0 ? 0 : (100 * left) / total} size="sm" aria-hidden />
      {numbers.length > 0 && (
        <details>
          <summary>{t('numbers', { count: numbers.length })}</summary>
          <ul>
            {numbers.map((number) => (
              <li key={number}>
                <Link to="/$environment/people/$number" params={{ environment, number }}>
                  {number}
                </Link>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  )
}

function Outcomes({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { api } = useSession()
  const key = useKey()
  const { clock } = useFormat()
  const { id, launchedAt, progress } = campaign
  const outcomes = useQuery({
    queryKey: key('campaign', id, 'outcomes', progress.settled),
    queryFn: () => api.readCampaignOutcomes({ id }),
    enabled: launchedAt !== null,
  })
  if (launchedAt === null) return null
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('outcomes')}
      </Title>
      <Loaded query={outcomes}>
        {({ byDisposition, byExcludedReason, attemptsHistogram, averageDurationSeconds }) => (
          <>
            <Counts counts={byDisposition} total={progress.total} />
            <Counts counts={byExcludedReason} total={progress.total} />
            {averageDurationSeconds !== null && (
              <Text size="sm">{t('average', { duration: clock(averageDurationSeconds) })}</Text>
            )}
            <Text size="sm" mt="sm">
              {t('attempts')}
            </Text>
            <Counts counts={attemptsHistogram} total={progress.total} />
          </>
        )}
      </Loaded>
    </Card>
  )
}

/** Counts by name, each with its share as a bar. */
function Counts(props: { readonly counts: Readonly<Record<string, number>>; readonly total: number }) {
  const { count } = useFormat()
  const word = useWord()
  const { counts, total } = props
  return (
    <ul className="funnel">
      {Object.entries(counts).map(([name, value]) => (
        <li key={name}>
          <Group justify="space-between" wrap="nowrap" gap="sm">
            <Text size="sm">{word(name)}</Text>
            <Text size="sm">{count(value)}</Text>
          </Group>
          <Progress value={total === 0 ? 0 : (100 * value) / total} size="sm" aria-hidden />
        </li>
      ))}
    </ul>
  )
}

/** By which rules the campaign calls. A draft can be changed freely. */
function RulesCard({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const tDays = useTranslations('days')
  const { canWrite } = useSession()
  const { money, ist } = useFormat()
  const word = useWord()
  const [editing, setEditing] = useState(false)
  const { agent, agentVersion, number, purpose, pacing, retries, schedule, autoPauseBelowPaise } = campaign
  const days = WEEKDAYS.filter((_, bit) => (schedule.weekdays & (1 << bit)) !== 0)
  return (
    <Card withBorder>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('rules')}
        </Title>
        {canWrite && campaign.status === 'draft' && (
          <Button size="xs" variant="default" onClick={() => setEditing(true)}>
            {tCommon('edit')}
          </Button>
        )}
      </Group>
      <Facts
        facts={[
          [
            t('agent'),
            `${agent.name ?? '–'}${agentVersion === null ? '' : ` (${t('version', { version: agentVersion })})`}`,
          ],
          [t('from'), number.e164 ?? '–'],
          ...(purpose === null ? [] : [[t('purpose'), word(purpose)] as const]),
          [t('hours'), `${clockOf(schedule.windowStartMinute)}–${clockOf(schedule.windowEndMinute)}`],
          [
            t('weekdays'),
            days.length === WEEKDAYS.length ? tDays('mon-sun') : days.map((day) => tDays(day)).join(', '),
          ],
          [t('pace'), pacing.callsPerMinute],
          [t('concurrent'), pacing.maxConcurrent],
          [t('tries'), retries.attempts],
          [t('interval'), retries.intervalMinutes],
          [t('floor'), money(autoPauseBelowPaise)],
          ...(schedule.startsAt === null ? [] : [[t('startsAt'), ist(schedule.startsAt)] as const]),
        ]}
      />
      {editing && <EditRules campaign={campaign} close={() => setEditing(false)} />}
    </Card>
  )
}

function EditRules({ campaign, close }: { readonly campaign: CampaignView; readonly close: () => void }) {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const { pacing, retries, schedule } = campaign
  const form = useFields<Rules>({
    from: clockOf(schedule.windowStartMinute),
    // A day has no clock time for its end.
    to: clockOf(schedule.windowEndMinute).replace('24:00', '00:00'),
    weekdays: schedule.weekdays,
    callsPerMinute: pacing.callsPerMinute,
    maxConcurrent: pacing.maxConcurrent,
    attempts: retries.attempts,
    intervalMinutes: retries.intervalMinutes,
    floorRupees: campaign.autoPauseBelowPaise / 100,
    startsAt:
      schedule.startsAt === null
        ? ''
        : new Date(Date.parse(schedule.startsAt) + IST_MS).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length),
  })
  const save = useAction(async () => {
    await api.updateCampaign({ id: campaign.id, body: rulesBody(form.values) })
    // The check belongs to the rules.
    if (campaign.progress.total > 0) await api.preflightCampaign({ id: campaign.id })
  }, close)
  return (
    <FormDialog title={t('rules')} close={close} action={save} submit={tCommon('save')} size="lg">
      <RulesInput form={form} />
    </FormDialog>
  )
}

const STATUSES = ['pending', 'queued', 'dialing', 'in_call', 'retry_wait', 'settled'] as const
const OUTCOMES = [
  ...(['answered', 'no_answer', 'busy', 'failed', 'voicemail', 'unknown', 'excluded', 'abandoned'] as const),
] as const

/** The people of the campaign, with what became of each. */
function Recipients({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const { time, money } = useFormat()
  const word = useWord()
  const filter = useFields({ status: '', outcome: '', e164: '' })
  const { status, outcome, e164 } = filter.values
  const { id, progress } = campaign
  const query = {
    ...(status === '' ? {} : { status }),
    ...(outcome === '' ? {} : { outcome }),
    ...(e164.trim() === '' ? {} : { e164: e164.trim() }),
  }
  const recipients = useList(
    ['campaign', id, 'recipients', query],
    (cursor) => api.listRecipients({ id, query: { ...query, cursor, limit: 50 } }),
    { enabled: progress.total > 0 },
  )
  if (progress.total === 0) return null
  const any = { value: '', label: t('any') }
  return (
    <Stack gap="sm">
      <Title order={2} size="h3">
        {t('people')}
      </Title>
      <Group gap="sm" align="flex-end">
        <NativeSelect
          label={t('state')}
          data={[any, ...STATUSES.map((value) => ({ value, label: word(value) }))]}
          {...filter.text('status')}
        />
        <NativeSelect
          label={t('outcome')}
          data={[any, ...OUTCOMES.map((value) => ({ value, label: word(value) }))]}
          {...filter.text('outcome')}
        />
        <TextInput label={t('number')} type="tel" placeholder="+919876543210" {...filter.text('e164')} />
      </Group>
      <List
        query={recipients}
        empty={t('nobody')}
        start={
          <Button variant="default" onClick={filter.reset}>
            {tCommon('clearFilters')}
          </Button>
        }
      >
        {(items) => (
          <Rows
            label={t('people')}
            rows={items}
            idOf={(recipient) => recipient.id}
            columns={[
              {
                title: t('number'),
                cell: ({ e164: number }) => (
                  <Link to="/$environment/people/$number" params={{ environment, number }}>
                    {number}
                  </Link>
                ),
              },
              {
                title: t('state'),
                cell: ({ status: state, nextAttemptAt }) => (
                  <>
                    <State value={state} />
                    {nextAttemptAt !== null && (
                      <Text size="xs">{t('notBefore', { time: time(nextAttemptAt) })}</Text>
                    )}
                  </>
                ),
              },
              {
                title: t('outcome'),
                cell: ({ outcome: result, excludedReason, lastCallId }) => {
                  if (result === null) return '–'
                  const text = excludedReason === null ? word(result) : word(excludedReason)
                  return lastCallId === null ? (
                    text
                  ) : (
                    <Link to="/$environment/calls/$id" params={{ environment, id: lastCallId }}>
                      {text}
                    </Link>
                  )
                },
              },
              { title: t('calls'), align: 'right', cell: ({ attempts }) => attempts },
              {
                title: t('lastCall'),
                cell: ({ lastAttemptAt }) => (lastAttemptAt === null ? '–' : time(lastAttemptAt)),
              },
              { title: t('spent'), align: 'right', cell: ({ spentPaise }) => money(spentPaise) },
            ]}
          />
        )}
      </List>
    </Stack>
  )
}
