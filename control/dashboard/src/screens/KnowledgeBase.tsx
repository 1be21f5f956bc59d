import {
  Alert,
  Button,
  Card,
  Checkbox,
  Group,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Confirm, Form } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { KnowledgeDocuments } from '../parts/KnowledgeDocuments.js'
import { List, useAction, useList } from '../parts/List.js'
import { useAgents } from '../parts/lookups.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type Base = Result<'readKnowledgeBase'>

const LIVE_MS = 2_000
const MODES = ['inline', 'search', 'pending'] as const

/** One knowledge base: its documents, its builds, a question to try, and the agents that use it. */
export function KnowledgeBase() {
  const t = useTranslations('knowledge')
  const { id } = useParams({ from: '/$environment/knowledge/$id' })
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const navigate = useNavigate()
  const [removing, setRemoving] = useState(false)
  const base = useQuery({
    queryKey: key('knowledge', id),
    queryFn: () => api.readKnowledgeBase({ id }),
    refetchInterval: ({ state: { data } }) => (data?.status === 'processing' ? LIVE_MS : false),
  })
  const remove = useAction(
    () => api.deleteKnowledgeBase({ id }),
    () => void navigate({ to: '/$environment/knowledge', params: { environment } }),
  )
  return (
    <Page
      title={base.data?.name ?? t('base')}
      actions={
        <>
          {canWrite && base.data !== undefined && (
            <Button variant="default" onClick={() => setRemoving(true)}>
              {t('remove')}
            </Button>
          )}
          <Link to="/$environment/knowledge" params={{ environment }}>
            {t('back')}
          </Link>
        </>
      }
    >
      <Loaded query={base} height={400}>
        {(data) => (
          <>
            <Standing base={data} />
            <KnowledgeDocuments baseId={id} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Try id={id} />
              <Stack>
                <Users id={id} />
                <Builds base={data} />
              </Stack>
            </SimpleGrid>
          </>
        )}
      </Loaded>
      {removing && (
        <Confirm
          title={t('remove')}
          text={t('removeText')}
          label={t('remove')}
          action={remove}
          close={() => setRemoving(false)}
        />
      )}
    </Page>
  )
}

function Standing({ base }: { readonly base: Base }) {
  const t = useTranslations('knowledge')
  const mode = MODES.find((known) => known === base.deliveryMode)
  return (
    <Stack gap="xs">
      {base.description !== null && <Text>{base.description}</Text>}
      <Group gap="sm">
        <State value={base.status} />
        {mode !== undefined && base.docCount > 0 && <Text size="sm">{t(`mode.${mode}`)}</Text>}
      </Group>
      {base.error !== null && <Alert color="red">{base.error}</Alert>}
    </Stack>
  )
}

/** Asks the base a question, as an agent does in a call. */
function Try({ id }: { readonly id: string }) {
  const t = useTranslations('knowledge')
  const { api } = useSession()
  const { count } = useFormat()
  const form = useFields({ query: '' })
  const search = useMutation({
    mutationFn: () => api.searchKnowledgeBase({ id, query: { query: form.values.query, limit: 5 } }),
  })
  return (
    <Card withBorder>
      <Stack>
        <Title order={2} size="h4">
          {t('search')}
        </Title>
        <Form action={search} submit={t('ask')}>
          <TextInput label={t('question')} required maxLength={500} {...form.text('query')} />
        </Form>
        <div role="status">
          {search.data?.items.length === 0 && <Text>{t('nothing')}</Text>}
          {search.data?.items.map(({ text, score, documentId, documentName, index, heading, page }) => (
            <blockquote className="passage" key={`${documentId} ${index}`}>
              <Text size="sm">{text}</Text>
              <footer>
                {[
                  documentName,
                  heading,
                  page === null ? '' : t('page', { page }),
                  t('score', { score: count(Math.round(score * 100) / 100) }),
                ]
                  .filter((part) => part !== '')
                  .join(' · ')}
              </footer>
            </blockquote>
          ))}
        </div>
      </Stack>
    </Card>
  )
}

/** The agents that use the base in their draft or in what is live. */
function Users({ id }: { readonly id: string }) {
  const t = useTranslations('knowledge')
  const tCommon = useTranslations('common')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const agents = useAgents()
  const [chosen, setChosen] = useState<readonly string[] | null>(null)
  const used = useQuery({
    queryKey: key('knowledge', id, 'agents'),
    queryFn: async () => {
      const items: Awaited<ReturnType<typeof api.listKnowledgeBaseAgents>>['items'][number][] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: Awaited<ReturnType<typeof api.listKnowledgeBaseAgents>> =
          await api.listKnowledgeBaseAgents(cursor === undefined ? { id } : { id, query: { cursor } })
        items.push(...page.items)
        cursor = page.cursor
      }
      return { items }
    },
  })
  const save = useAction(
    () => api.updateKnowledgeBase({ id, body: { agentIds: chosen ?? [] } as { agentIds: string[] } }),
    () => setChosen(null),
  )
  const drafts = used.data?.items.filter(({ inDraft }) => inDraft).map((agent) => agent.id) ?? []
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('used')}
      </Title>
      <Loaded query={used} height={60}>
        {({ items }) =>
          items.length === 0 ? (
            <Text size="sm">{t('unused')}</Text>
          ) : (
            <ul>
              {items.map(({ id: agentId, name, inDraft, inPublished, publishedVersion }) => (
                <li key={agentId}>
                  <Link to="/$environment/agents/$id" params={{ environment, id: agentId }}>
                    {name}
                  </Link>
                  {inDraft && ` · ${t('draft')}`}
                  {inPublished &&
                    publishedVersion !== null &&
                    ` · ${t('live', { version: publishedVersion })}`}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {canWrite && agents !== null && agents.length > 0 && (
        <Form action={save} submit={tCommon('save')} disabled={chosen === null}>
          <Checkbox.Group label={t('usedBy')} value={[...(chosen ?? drafts)]} onChange={setChosen}>
            <Stack gap="xs" mt="xs">
              {agents.map((agent) => (
                <Checkbox key={agent.id} value={agent.id} label={agent.name} />
              ))}
            </Stack>
          </Checkbox.Group>
        </Form>
      )}
    </Card>
  )
}

function Builds({ base }: { readonly base: Base }) {
  const t = useTranslations('knowledge')
  const { api, canWrite } = useSession()
  const { time } = useFormat()
  const build = useAction(() => api.buildKnowledgeBase({ id: base.id }))
  const builds = useList(
    ['knowledge', base.id, 'builds', base.status],
    (cursor) => api.listKnowledgeBuilds({ id: base.id, query: { cursor, limit: 10 } }),
    base.status === 'processing' ? { refetchMs: LIVE_MS } : {},
  )
  return (
    <Card withBorder>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {t('builds')}
          </Title>
          {canWrite && base.docCount > 0 && (
            <Button size="xs" variant="default" onClick={() => build.mutate()} loading={build.isPending}>
              {t('build')}
            </Button>
          )}
        </Group>
        {build.error !== null && <Problem error={build.error} />}
        <List query={builds} empty={t('noBuilds')}>
          {(items) => (
            <Rows
              label={t('builds')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: t('started'), cell: ({ startedAt }) => time(startedAt) },
                {
                  title: t('state'),
                  cell: ({ status, error, documents, documentsDone, warnings }) => (
                    <>
                      <State value={status} />
                      <Text size="xs">
                        {error ?? t('building', { done: documentsDone, total: documents })}
                      </Text>
                      {warnings.map((warning) => (
                        <Text key={warning} size="xs">
                          {warning}
                        </Text>
                      ))}
                    </>
                  ),
                },
              ]}
            />
          )}
        </List>
      </Stack>
    </Card>
  )
}
