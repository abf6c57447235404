"""The providers whose models can be used: what they are called, and what they need."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KNOWN_PROVIDERS", "KnownProvider", "find_provider"]


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """Whoever sells or serves models, and what is needed to ask them."""

    prefix: str
    """Of a model's name, before the colon."""
    title: str
    keys: tuple[str, ...] = ()
    """Environment variables that hold its key; one of them is enough."""
    module: str = "openai"
    """What must be importable."""
    extra: str = "agent"
    """Of Prowess, which brings that module; empty if none does, but the library's of the same name."""
    needs: tuple[str, ...] = ()
    """Environment variables that must be set besides."""
    elsewhere: str = ""
    """Where the key may be without a variable, so that a missing one is no fault."""
    own_server: bool = False
    """Whether it is a server of somebody's own, which must have an address and mostly wants no key."""
    takes_url: bool = False
    """Whether `model_url` of the settings is meant for it. A server at such an address may want no key."""
    url_variable: str = ""
    """An environment variable that holds such an address as well; the library reads it."""
    default_url: str = ""
    """The address that counts without either."""
    marks_errors: bool = False
    """Whether its protocol can say that a tool has failed, apart from the text."""
    families: tuple[str, ...] = ()
    """How the names of its models begin, for people who leave out the prefix."""

    @property
    def requirement(self) -> str:
        """What to install."""
        return f"prowess[{self.extra}]" if self.extra else f"pydantic-ai-slim[{self.prefix}]"


_OPENAI = ("OPENAI_API_KEY",)
_GOOGLE = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_AWS = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")
_AZURE = ("AZURE_OPENAI_API_KEY",)
_AZURE_NEEDS = ("AZURE_OPENAI_ENDPOINT",)
_GATEWAY = ("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")
_CLOUD_LOGIN = "the login of gcloud"
_AWS_FILES = "the files and roles of AWS"

_ROWS = (
    KnownProvider(
        "anthropic",
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        "anthropic",
        marks_errors=True,
        families=("claude",),
    ),
    KnownProvider(
        "openai",
        "OpenAI",
        _OPENAI,
        takes_url=True,
        url_variable="OPENAI_BASE_URL",
        families=("gpt", "o1", "o3", "o4", "chatgpt"),
    ),
    KnownProvider(
        "openai-chat", "OpenAI's chat-completions protocol", _OPENAI, takes_url=True, url_variable="OPENAI_BASE_URL"
    ),
    KnownProvider("openai-responses", "OpenAI's responses protocol", _OPENAI, url_variable="OPENAI_BASE_URL"),
    KnownProvider("google", "Google Gemini", _GOOGLE, "google.genai", marks_errors=True, families=("gemini",)),
    KnownProvider("google-cloud", "Google Cloud", _GOOGLE, "google.genai", elsewhere=_CLOUD_LOGIN, marks_errors=True),
    KnownProvider(
        "ollama",
        "Ollama",
        ("OLLAMA_API_KEY",),
        own_server=True,
        takes_url=True,
        url_variable="OLLAMA_BASE_URL",
        default_url="http://127.0.0.1:11434/v1",
    ),
    KnownProvider("bedrock", "Amazon Bedrock", _AWS, "boto3", "bedrock", elsewhere=_AWS_FILES, marks_errors=True),
    KnownProvider("groq", "Groq", ("GROQ_API_KEY",), "groq", "groq"),
    KnownProvider(
        "mistral", "Mistral", ("MISTRAL_API_KEY",), "mistralai", "mistral", families=("mistral", "codestral")
    ),
    KnownProvider("alibaba", "Alibaba Cloud", ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    KnownProvider("azure", "Azure OpenAI", _AZURE, needs=_AZURE_NEEDS),
    KnownProvider("azure-responses", "Azure OpenAI's responses protocol", _AZURE, needs=_AZURE_NEEDS),
    KnownProvider("bedrock-mantle", "Amazon Bedrock Mantle", _AWS, extra="bedrock", elsewhere=_AWS_FILES),
    KnownProvider("cerebras", "Cerebras", ("CEREBRAS_API_KEY",)),
    KnownProvider("cohere", "Cohere", ("CO_API_KEY",), "cohere", "", families=("command",)),
    KnownProvider("crusoe", "Crusoe", ("CRUSOE_API_KEY",)),
    KnownProvider("deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), families=("deepseek",)),
    KnownProvider("fireworks", "Fireworks AI", ("FIREWORKS_API_KEY",)),
    KnownProvider(
        "gateway/anthropic", "Anthropic through Pydantic's gateway", _GATEWAY, "anthropic", marks_errors=True
    ),
    KnownProvider(
        "gateway/bedrock", "Bedrock through Pydantic's gateway", _GATEWAY, "boto3", "bedrock", marks_errors=True
    ),
    KnownProvider("gateway/google", "Gemini through Pydantic's gateway", _GATEWAY, "google.genai", marks_errors=True),
    KnownProvider(
        "gateway/google-cloud", "Google Cloud through Pydantic's gateway", _GATEWAY, "google.genai", marks_errors=True
    ),
    KnownProvider("gateway/groq", "Groq through Pydantic's gateway", _GATEWAY, "groq", "groq"),
    KnownProvider("gateway/openai", "OpenAI through Pydantic's gateway", _GATEWAY),
    KnownProvider(
        "github-copilot",
        "GitHub Copilot",
        ("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"),
    ),
    KnownProvider("heroku", "Heroku", ("HEROKU_INFERENCE_KEY",)),
    KnownProvider("huggingface", "Hugging Face", ("HF_TOKEN",), "huggingface_hub", ""),
    KnownProvider("litellm", "LiteLLM", ("LITELLM_API_KEY",), own_server=True, takes_url=True),
    KnownProvider("meta", "Meta", ("META_API_KEY",), families=("llama",)),
    KnownProvider("moonshotai", "Moonshot AI", ("MOONSHOTAI_API_KEY",), families=("kimi",)),
    KnownProvider("nebius", "Nebius", ("NEBIUS_API_KEY",)),
    KnownProvider("openrouter", "OpenRouter", ("OPENROUTER_API_KEY",)),
    KnownProvider("ovhcloud", "OVHcloud", ("OVHCLOUD_API_KEY",)),
    KnownProvider("sambanova", "SambaNova", ("SAMBANOVA_API_KEY",)),
    KnownProvider("snowflake", "Snowflake", ("SNOWFLAKE_TOKEN",), needs=("SNOWFLAKE_ACCOUNT",)),
    KnownProvider("together", "Together AI", ("TOGETHER_API_KEY",)),
    KnownProvider("vercel", "Vercel AI Gateway", ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    KnownProvider("vllm", "vLLM", ("VLLM_API_KEY",), own_server=True, takes_url=True, url_variable="VLLM_BASE_URL"),
    KnownProvider("xai", "xAI", ("XAI_API_KEY",), "xai_sdk", "", families=("grok",)),
    KnownProvider("zai", "Z.ai", ("ZAI_API_KEY",), families=("glm",)),
)

KNOWN_PROVIDERS: Mapping[str, KnownProvider] = {row.prefix: row for row in _ROWS}
"""By prefix, the usual ones first."""


def find_provider(model: str) -> KnownProvider | None:
    """Return the provider that a model's name begins with, if it is a known one."""
    return KNOWN_PROVIDERS.get(model.partition(":")[0]) if ":" in model else None
