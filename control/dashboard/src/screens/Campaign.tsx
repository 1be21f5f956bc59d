import {
  Alert,
  Button,
  Card,
  FileButton,
  Group,
  Progress,
  SimpleGrid,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Facts } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type CampaignView = Result<'readCampaign'>

/** One campaign: its list, what its check says, and its progress while it runs. */
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
              <Preflight campaign={data} />
              <Outcomes campaign={data} />
            </SimpleGrid>
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
  const { id, status, progress } = campaign
  const step = useMutation({
    mutationFn: async (run: () => Promise<unknown>) => {
      await run()
    },
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
        {status === 'draft' && (
          <FileButton onChange={(file) => file !== null && upload.mutate(file)} accept="text/csv,.csv">
            {(props) => (
              <Button variant="default" loading={upload.isPending} {...props}>
                {t('upload')}
              </Button>
            )}
          </FileButton>
        )}
        {status === 'draft' && progress.total > 0 && button(t('check'), () => api.preflightCampaign({ id }))}
        {status === 'draft' && campaign.preflight !== null && button(t('launch'), launch, 'filled')}
        {(status === 'running' || status === 'scheduled') &&
          button(t('pause'), () => api.pauseCampaign({ id }), 'filled')}
        {status === 'paused' && button(t('resume'), () => api.resumeCampaign({ id }), 'filled')}
        {['running', 'scheduled', 'paused'].includes(status) &&
          button(t('stop'), () => api.stopCampaign({ id }))}
        <Link to="/$environment/calls" params={{ environment }}>
          {t('calls')}
        </Link>
      </Group>
      {status === 'draft' && <Text size="sm">{t('uploadHint')}</Text>}
      {step.error !== null && <Problem error={step.error} />}
      {upload.error !== null && <Problem error={upload.error} />}
      {upload.data !== undefined && <Imported result={upload.data} />}
    </Stack>
  )
}

const SHOWN_ROWS = 20

/** Says how many rows were taken, and why others were not. */
function Imported({ result }: { readonly result: Result<'importRecipients'> }) {
  const t = useTranslations('campaigns')
  const { imported, rejected } = result
  return (
    <Alert role="status" color={rejected.length === 0 ? 'green' : 'orange'}>
      <Text size="sm">{t('imported', { imported, rejected: rejected.length })}</Text>
      {rejected.slice(0, SHOWN_ROWS).map(({ index, line, e164, message }) => (
        <Text size="sm" key={index}>
          {t('row', { line: line ?? index, e164, message })}
        </Text>
      ))}
    </Alert>
  )
}

function Standing({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { money } = useFormat()
  const word = useWord()
  const { progress, status, pausedReason, failureReason } = campaign
  const { total, settled, connected, excluded, spentPaise, lateAgentSound } = progress
  const percent = total === 0 ? 0 : Math.round((100 * settled) / total)
  return (
    <Stack gap="xs">
      <Group>
        <State value={status} />
        {pausedReason !== null && <Text size="sm">{word(pausedReason)}</Text>}
        {failureReason !== null && <Text size="sm">{failureReason}</Text>}
      </Group>
      <Progress value={percent} size="lg" aria-label={t('settled')} />
      <Text>{t('progress', { settled, total, connected, excluded, spent: money(spentPaise) })}</Text>
      {lateAgentSound > 0 && <Alert color="orange">{t('late', { count: lateAgentSound })}</Alert>}
    </Stack>
  )
}

/** What the check before the launch found: whom the campaign may call, what it costs, when it ends. */
function Preflight({ campaign: { preflight } }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { money, ist } = useFormat()
  const word = useWord()
  if (preflight === null) return null
  const { callable, total, excluded, estimatedCostPaise, estimatedFinish, checks } = preflight
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('preflight')}
      </Title>
      <Text fw={700}>{t('callable', { callable, total })}</Text>
      <Text size="sm">
        {t('cost', { low: money(estimatedCostPaise.low), high: money(estimatedCostPaise.high) })}
      </Text>
      <Text size="sm">
        {t('finish', { time: estimatedFinish.likely === null ? '–' : ist(estimatedFinish.likely) })}
      </Text>
      <Counts counts={excluded} />
      {checks
        .filter(({ outcome }) => outcome !== 'pass')
        .map(({ type, outcome, reason }) => (
          <Text size="sm" key={type}>
            <State value={outcome} /> {word(type)}: {word(reason)}
          </Text>
        ))}
    </Card>
  )
}

function Outcomes({ campaign }: { readonly campaign: CampaignView }) {
  const t = useTranslations('campaigns')
  const { api } = useSession()
  const key = useKey()
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
        {({ byDisposition, attemptsHistogram }) => (
          <>
            <Counts counts={byDisposition} />
            <Text size="sm" mt="sm">
              {t('attempts')}
            </Text>
            <Counts counts={attemptsHistogram} />
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const { count } = useFormat()
  const word = useWord()
  return <Facts facts={Object.entries(counts).map(([name, value]) => [word(name), count(value)] as const)} />
}
