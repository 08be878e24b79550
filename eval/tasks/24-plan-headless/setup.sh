mkdir -p app/models app/views tests docs
printf 'class User:\n    def __init__(self, name):\n        self.name = name\n' > app/models/user.py
printf 'from app.models.user import User\n\n\ndef show(user):\n    return user.name\n' > app/views/profile.py
printf 'from app.views.profile import show\n\n\ndef export(users):\n    return [show(user) for user in users]\n' > app/export.py
printf 'from app.models.user import User\n\n\ndef test_user():\n    assert User("a").name == "a"\n' > tests/test_user.py
for n in $(seq 1 20); do printf 'value = %s\n' $n > app/other_$n.py; done
printf '# App\n' > docs/readme.md
