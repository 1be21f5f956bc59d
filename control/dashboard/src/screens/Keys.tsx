import {
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  Modal,
  NativeSelect,
  Stack,
  Text,
  TextInput,
} from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { useKey, useSession } from '../session.js'

const SCOPES = ['read', 'write', 'admin'] as const
type Scope = (typeof SCOPES)[number]

/** Lists and creates API keys of the environment. */
export function Keys() {
  const t = useTranslations('keys')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const { time } = useFormat()
  const [creating, setCreating] = useState(false)
  const [deleted, setDeleted] = useState<{ readonly id: string; readonly name: string } | null>(null)
  const keys = useQuery({
    queryKey: key('keys'),
    enabled: canManage,
    queryFn: () => api.listApiKeys({ query: { limit: 100 } }),
  })
  const remove = useMutation({
    mutationFn: (id: string) => api.deleteApiKey({ id }),
    onSuccess: () => {
      setDeleted(null)
      void queries.invalidateQueries({ queryKey: key('keys') })
    },
  })
  if (!canManage) {
    return (
      <Page title={t('title')}>
        <Text>{t('sessionOnly')}</Text>
      </Page>
    )
  }
  return (
    <Page title={t('title')} actions={<Button onClick={() => setCreating(true)}>{t('new')}</Button>}>
      <Loaded query={keys}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: tCommon('name'), cell: ({ name }) => name },
                { title: t('title'), cell: ({ start }) => <Code>{start}…</Code> },
                { title: t('scopes'), cell: ({ scopes }) => scopes.join(', ') },
                {
                  title: t('used'),
                  cell: ({ lastUsedAt }) => (lastUsedAt === null ? t('never') : time(lastUsedAt)),
                },
                {
                  title: '',
                  align: 'right',
                  cell: ({ id, name }) => (
                    <Button size="xs" variant="default" onClick={() => setDeleted({ id, name })}>
                      {tCommon('delete')}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {creating && <NewKey close={() => setCreating(false)} />}
      {deleted !== null && (
        <Modal
          opened
          onClose={() => setDeleted(null)}
          title={tCommon('delete')}
          closeButtonProps={{ 'aria-label': tCommon('cancel') }}
        >
          <Stack>
            <Text>{t('confirmDelete', { name: deleted.name })}</Text>
            {remove.error !== null && <Problem error={remove.error} />}
            <Button color="red.9" onClick={() => remove.mutate(deleted.id)} loading={remove.isPending}>
              {tCommon('delete')}
            </Button>
          </Stack>
        </Modal>
      )}
    </Page>
  )
}

function NewKey({ close }: { readonly close: () => void }) {
  const t = useTranslations('keys')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('write')
  const create = useMutation({
    mutationFn: () => api.createApiKey({ body: { name, environment, scopes: [scope] } }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: key('keys') }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Modal
      opened
      onClose={close}
      size="lg"
      title={create.data === undefined ? t('new') : t('created')}
      closeButtonProps={{ 'aria-label': tCommon('cancel') }}
    >
      {create.data !== undefined ? (
        <Stack>
          <Alert color="orange">{t('once')}</Alert>
          <Code block>{create.data.key}</Code>
          <CopyButton value={create.data.key}>
            {({ copied, copy }) => (
              <Button onClick={copy}>{copied ? tCommon('copied') : tCommon('copy')}</Button>
            )}
          </CopyButton>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {create.error !== null && <Problem error={create.error} />}
            <TextInput
              label={tCommon('name')}
              required
              maxLength={80}
              data-autofocus
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <NativeSelect
              label={t('scopes')}
              value={scope}
              onChange={({ currentTarget }) => setScope(currentTarget.value as Scope)}
              data={SCOPES.map((value) => ({ value, label: t(value) }))}
            />
            <Group>
              <Button type="submit" loading={create.isPending}>
                {tCommon('create')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}
