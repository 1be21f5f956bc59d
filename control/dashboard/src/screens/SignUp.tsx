import { Alert, Anchor, Button, Container, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { SessionApi } from '../api.js'
import { Problem } from '../parts/Problem.js'

const EMPTY = { organizationName: '', email: '' }

/** Creates an account with its organization. A mailed link confirms the address and asks for a password. */
export function SignUp() {
  const t = useTranslations('signUp')
  const tSignIn = useTranslations('signIn')
  const [form, setForm] = useState(EMPTY)
  const signUp = useMutation({
    mutationFn: () => new SessionApi({ environment: 'test', organizationId: null }).signUp({ body: form }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    signUp.mutate()
  }
  const field = (name: keyof typeof EMPTY) => ({
    name,
    required: true,
    value: form[name],
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      setForm({ ...form, [name]: currentTarget.value }),
  })
  return (
    <Container component="main" size={420} py="xl">
      <Title order={1} size="h2" mb="md">
        {t('title')}
      </Title>
      <Paper withBorder p="lg">
        {signUp.isSuccess ? (
          <Alert role="status">
            <Text size="sm">{t('done', { email: form.email })}</Text>
            <Anchor
              underline="always"
              size="sm"
              href={new URL('../resend-verification', document.baseURI).href}
            >
              {t('again')}
            </Anchor>
          </Alert>
        ) : (
          <form onSubmit={submit}>
            <Stack>
              {signUp.error !== null && <Problem error={signUp.error} />}
              <TextInput
                label={t('organization')}
                autoComplete="organization"
                {...field('organizationName')}
              />
              <TextInput label={tSignIn('email')} type="email" autoComplete="username" {...field('email')} />
              <Text size="sm">{t('help')}</Text>
              <Button type="submit" loading={signUp.isPending}>
                {t('submit')}
              </Button>
            </Stack>
          </form>
        )}
        <Anchor underline="always" component={Link} to="/sign-in" mt="md" display="block">
          {t('have')}
        </Anchor>
      </Paper>
    </Container>
  )
}
