import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

export function Agents() {
  const t = useTranslations('agents')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const [creating, setCreating] = useState(false)
  const agents = useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
  const create = canWrite && <Button onClick={() => setCreating(true)}>{t('new')}</Button>
  return (
    <Page title={t('title')} actions={create}>
      <Loaded query={agents} height={300}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                {
                  title: t('title'),
                  cell: ({ id, name }) => (
                    <Link to="/$environment/agents/$id" params={{ environment, id }}>
                      {name}
                    </Link>
                  ),
                },
                {
                  title: t('draft'),
                  cell: ({ publishedVersion, hasUnpublishedChanges }) => (
                    <Group gap="xs">
                      {publishedVersion !== null && (
                        <Word color="green.9">{t('version', { version: publishedVersion })}</Word>
                      )}
                      {hasUnpublishedChanges && <Word color="orange.9">{t('changes')}</Word>}
                    </Group>
                  ),
                },
                { title: t('purpose'), cell: ({ purpose }) => purpose },
                { title: t('numbers'), align: 'right', cell: ({ numberIds }) => numberIds.length },
              ]}
            />
          )
        }
      </Loaded>
      {creating && <NewAgent close={() => setCreating(false)} />}
    </Page>
  )
}

function NewAgent({ close }: { readonly close: () => void }) {
  const t = useTranslations('agents')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => api.createAgent({ body: { name } }),
    onSuccess: ({ id }) => void navigate({ to: '/$environment/agents/$id', params: { environment, id } }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Modal opened onClose={close} title={t('new')} closeButtonProps={{ 'aria-label': tCommon('cancel') }}>
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
          <Button type="submit" loading={create.isPending}>
            {tCommon('create')}
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}
